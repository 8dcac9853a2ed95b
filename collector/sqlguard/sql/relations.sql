-- Names that ad-hoc SQL may read: views and tables in schema main of the served database.
select view_name as name
from duckdb_views()
where schema_name = 'main' and database_name = current_database() and not internal
union all
select table_name
from duckdb_tables()
where schema_name = 'main' and database_name = current_database() and not internal and not temporary
