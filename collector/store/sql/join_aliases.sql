-- Names the instance that each other name stands for.
select alias, min(instance) as instance
from instance_aliases
group by alias
