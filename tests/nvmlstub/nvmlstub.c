/* A stand-in for libnvidia-ml.so.1: answers from a text file what a test wants GPUs to be and how they fail.
 *
 * The file named by NVMLSTUB_STATE has one `key value` a line and is read again when it changes. Keys:
 *   count, driver, mismatch (1 = driver and library differ), gpm_delay_us
 *   gpu.N.KEY or gpu.*.KEY: name, uuid, memory_total, memory_used, gpu_util, memory_util, power_mw, energy_mj,
 *     temperature, sm_clock, memory_clock, reasons (bit mask), ecc, remapped, gpm (0 = not supported), gpm.ID (value of
 *     a metric), field.ID or field.ID.SCOPE, lost, hang_ms, fail.FUNCTION (return code), mig (number of instances),
 *     mig.I.KEY, processes, process.I (pid), process.I.memory
 *   xid.SERIAL  "GPU CODE": an event; serials rise
 * NVMLSTUB_CHECK_MS spares the look at the file for that long; without it every call looks.
 * Structures follow the public header of the driver API (nvml.h); values are the test's own.
 * Built with -DNO_GPM it is a driver from before GPM.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7, TIMEOUT = 10, LOST = 15,
       MISMATCH = 18, NO_DATA = 21, NOT_READY = 27 };
enum { MAX_ENTRIES = 4096, MAX_GPUS = 64, MAX_MIGS = 8, GPM_MIN_MS = 100 };

typedef struct { char key[96]; char value[96]; } entry_t;
typedef struct { int gpu; int mig; } device_t;
typedef struct { double at_ms; int gpu; int mig; } sample_t;

static entry_t entries[MAX_ENTRIES];
static int entry_count;
static struct timespec seen_mtime;
static ino_t seen_inode;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static device_t devices[MAX_GPUS][MAX_MIGS + 1];
static int initialized;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void pause_us(long us) {
    struct timespec t = { us / 1000000, us % 1000000 * 1000 };
    nanosleep(&t, NULL);
}

static void refresh(void) { /* with the lock held */
    static double checked, every = -1;
    struct stat facts;
    if (every < 0) every = getenv("NVMLSTUB_CHECK_MS") ? atof(getenv("NVMLSTUB_CHECK_MS")) : 0;
    if (every > 0 && now_ms() - checked < every) return;
    checked = now_ms();
    const char *path = getenv("NVMLSTUB_STATE");
    if (!path || stat(path, &facts) != 0) return;
    if (facts.st_mtim.tv_sec == seen_mtime.tv_sec && facts.st_mtim.tv_nsec == seen_mtime.tv_nsec &&
        facts.st_ino == seen_inode) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    seen_mtime = facts.st_mtim;
    seen_inode = facts.st_ino;
    entry_count = 0;
    char line[256];
    while (entry_count < MAX_ENTRIES && fgets(line, sizeof line, file)) {
        entry_t *entry = &entries[entry_count];
        if (line[0] != '#' && sscanf(line, "%95s %95[^\n]", entry->key, entry->value) == 2) entry_count++;
    }
    fclose(file);
}

static int find(const char *key, char *value) {
    int found = 0;
    pthread_mutex_lock(&lock);
    refresh();
    for (int i = 0; i < entry_count; i++)
        if (strcmp(entries[i].key, key) == 0) {
            strcpy(value, entries[i].value);
            found = 1;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

static int find_of(const device_t *device, const char *key, char *value) {
    char full[192];
    if (device->mig >= 0) {
        snprintf(full, sizeof full, "gpu.%d.mig.%d.%s", device->gpu, device->mig, key);
        if (find(full, value)) return 1;
    }
    snprintf(full, sizeof full, "gpu.%d.%s", device->gpu, key);
    if (find(full, value)) return 1;
    snprintf(full, sizeof full, "gpu.*.%s", key);
    return find(full, value);
}

static double number_of(const device_t *device, const char *key, double otherwise) {
    char value[96];
    return find_of(device, key, value) ? atof(value) : otherwise;
}

static double number(const char *key, double otherwise) {
    char value[96];
    return find(key, value) ? atof(value) : otherwise;
}

/* What every call on a device meets first: a hang, a lost GPU, an ordered failure. */
static int gate(const device_t *device, const char *function) {
    if (!initialized) return UNINITIALIZED;
    if (!device) return INVALID;
    double since = now_ms();
    while (now_ms() - since < number_of(device, "hang_ms", 0)) pause_us(10000);
    if (number_of(device, "lost", 0)) return LOST;
    char key[128];
    snprintf(key, sizeof key, "fail.%s", function);
    return (int)number_of(device, key, OK);
}

#define GATE(device) do { int code = gate(device, __func__); if (code) return code; } while (0)

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    if (number("mismatch", 0)) return MISMATCH;
    int code = (int)number("fail.nvmlInit", OK);
    if (code) return code;
    for (int g = 0; g < MAX_GPUS; g++)
        for (int m = 0; m <= MAX_MIGS; m++) devices[g][m] = (device_t){ g, m - 1 };
    initialized = 1;
    return OK;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { initialized = 0; return OK; }
const char *nvmlErrorString(int code) { return code == LOST ? "GPU is lost" : "stub error"; }

int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    char value[96];
    if (!initialized) return UNINITIALIZED;
    snprintf(out, size, "%s", find("driver", value) ? value : "580.95.05");
    return OK;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    if (!initialized) return UNINITIALIZED;
    *count = (unsigned)number("count", 1);
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t **device) {
    if (!initialized) return UNINITIALIZED;
    if (index >= (unsigned)number("count", 1) || index >= MAX_GPUS) return INVALID;
    *device = &devices[index][0];
    GATE(*device);
    return OK;
}
int nvmlDeviceGetIndex(device_t *device, unsigned *index) { GATE(device); *index = device->gpu; return OK; }
int nvmlDeviceGetUUID(device_t *device, char *out, unsigned size) {
    char value[96];
    GATE(device);
    if (device->mig >= 0) snprintf(out, size, "MIG-%08d-%04d", device->gpu, device->mig);
    else if (find_of(device, "uuid", value)) snprintf(out, size, "%s", value);
    else snprintf(out, size, "GPU-%08d", device->gpu);
    return OK;
}
int nvmlDeviceGetName(device_t *device, char *out, unsigned size) {
    char value[96];
    GATE(device);
    snprintf(out, size, "%s", find_of(device, "name", value) ? value : "NVIDIA Stub H200");
    return OK;
}

typedef struct { unsigned long long total, free, used; } memory_v1_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
int nvmlDeviceGetMemoryInfo(device_t *device, memory_v1_t *out) {
    GATE(device);
    out->total = (unsigned long long)number_of(device, "memory_total", 150e9);
    out->used = (unsigned long long)number_of(device, "memory_used", 1e9);
    out->free = out->total - out->used;
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(device_t *device, memory_v2_t *out) {
    GATE(device);
    if (out->version != 0x02000028) return 25;
    out->total = (unsigned long long)number_of(device, "memory_total", 150e9);
    out->used = (unsigned long long)number_of(device, "memory_used", 1e9);
    out->reserved = 500000000ull;
    out->free = out->total - out->used - out->reserved;
    return OK;
}
int nvmlDeviceGetUtilizationRates(device_t *device, unsigned out[2]) {
    GATE(device);
    if (device->mig >= 0 || number_of(device, "mig", 0)) return NOT_SUPPORTED;
    out[0] = (unsigned)number_of(device, "gpu_util", 50);
    out[1] = (unsigned)number_of(device, "memory_util", 20);
    return OK;
}
int nvmlDeviceGetPowerUsage(device_t *device, unsigned *out) {
    GATE(device);
    *out = (unsigned)number_of(device, "power_mw", 300000);
    return OK;
}
static unsigned long long energy_mj(device_t *device) {
    double grown = now_ms() / 1e3 * number_of(device, "power_mw", 300000);
    return (unsigned long long)number_of(device, "energy_mj", grown);
}
int nvmlDeviceGetTotalEnergyConsumption(device_t *device, unsigned long long *out) {
    GATE(device);
    *out = energy_mj(device);
    return OK;
}
typedef struct { unsigned version; unsigned sensor; int temperature; } temperature_t;
int nvmlDeviceGetTemperatureV(device_t *device, temperature_t *out) {
    GATE(device);
    out->temperature = (int)number_of(device, "temperature", 55);
    return OK;
}
int nvmlDeviceGetTemperature(device_t *device, unsigned sensor, unsigned *out) {
    (void)sensor;
    GATE(device);
    *out = (unsigned)number_of(device, "temperature", 55);
    return OK;
}
int nvmlDeviceGetClockInfo(device_t *device, unsigned kind, unsigned *out) {
    GATE(device);
    *out = (unsigned)(kind == 2 ? number_of(device, "memory_clock", 2600) : number_of(device, "sm_clock", 1980));
    return OK;
}
int nvmlDeviceGetCurrentClocksEventReasons(device_t *device, unsigned long long *out) {
    GATE(device);
    *out = (unsigned long long)number_of(device, "reasons", 0);
    return OK;
}
int nvmlDeviceGetTotalEccErrors(device_t *device, unsigned kind, unsigned counter, unsigned long long *out) {
    (void)counter;
    GATE(device);
    *out = kind == 1 ? (unsigned long long)number_of(device, "ecc", 0) : 0;
    return OK;
}
int nvmlDeviceGetRemappedRows(device_t *device, unsigned *corr, unsigned *unc, unsigned *pending, unsigned *failed) {
    GATE(device);
    *corr = 0;
    *unc = (unsigned)number_of(device, "remapped", 0);
    *pending = *failed = 0;
    return OK;
}

typedef union { double d; unsigned ui; unsigned long ul; unsigned long long ull; long long sll; } value_t;
typedef struct { uint32_t id, scope; int64_t stamp, latency; uint32_t type; int code; value_t value; } field_t;
int nvmlDeviceGetFieldValues(device_t *device, int count, field_t *fields) {
    GATE(device);
    for (int i = 0; i < count; i++) {
        char key[48], value[96];
        field_t *field = &fields[i];
        field->code = OK;
        field->type = 3; /* unsigned long long */
        snprintf(key, sizeof key, "field.%u.%u", field->id, field->scope);
        if (!find_of(device, key, value)) {
            snprintf(key, sizeof key, "field.%u", field->id);
            if (!find_of(device, key, value)) {
                if (field->id == 83) field->value.ull = energy_mj(device);
                else if (field->id == 186) field->value.ull = (unsigned long long)number_of(device, "power_mw", 300000);
                else field->code = NOT_SUPPORTED;
                continue;
            }
        }
        field->value.ull = strtoull(value, NULL, 10);
    }
    return OK;
}

typedef struct { unsigned pid; unsigned long long memory; unsigned gi, ci; } process_t;
int nvmlDeviceGetComputeRunningProcesses_v3(device_t *device, unsigned *count, process_t *out) {
    GATE(device);
    unsigned have = (unsigned)number_of(device, "processes", 0);
    if (have == 0) { *count = 0; return OK; }
    if (!out || *count < have) { *count = have; return SMALL; }
    for (unsigned i = 0; i < have; i++) {
        char key[48];
        snprintf(key, sizeof key, "process.%u", i);
        out[i].pid = (unsigned)number_of(device, key, 1000 + i);
        snprintf(key, sizeof key, "process.%u.memory", i);
        out[i].memory = (unsigned long long)number_of(device, key, 1e9);
        out[i].gi = out[i].ci = 0xFFFFFFFFu;
    }
    *count = have;
    return OK;
}

int nvmlDeviceGetMigMode(device_t *device, unsigned *current, unsigned *pending) {
    GATE(device);
    *current = *pending = number_of(device, "mig", 0) > 0;
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(device_t *device, unsigned *out) { GATE(device); *out = MAX_MIGS - 1; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(device_t *device, unsigned index, device_t **out) {
    GATE(device);
    if (index >= (unsigned)number_of(device, "mig", 0)) return NOT_FOUND;
    *out = &devices[device->gpu][index + 1];
    return OK;
}
int nvmlDeviceGetGpuInstanceId(device_t *device, unsigned *out) {
    GATE(device);
    if (device->mig < 0) return INVALID;
    *out = (unsigned)device->mig + 1;
    return OK;
}

#ifndef NO_GPM
typedef struct { unsigned version, supported; } gpm_support_t;
typedef struct { unsigned id; int code; double value; char *names[3]; } gpm_metric_t;
typedef struct { unsigned version, count; sample_t *older, *newer; gpm_metric_t metrics[]; } gpm_get_t;

int nvmlGpmQueryDeviceSupport(device_t *device, gpm_support_t *out) {
    GATE(device);
    if (out->version != 1) return 25;
    out->supported = number_of(device, "gpm", 1) != 0;
    return OK;
}
int nvmlGpmSampleAlloc(sample_t **out) { *out = calloc(1, sizeof **out); return OK; }
int nvmlGpmSampleFree(sample_t *sample) { free(sample); return OK; }
static int gpm_sample(device_t *device, int mig, sample_t *sample) {
    pause_us((long)number("gpm_delay_us", 0));
    sample->at_ms = now_ms();
    sample->gpu = device->gpu;
    sample->mig = mig;
    return OK;
}
int nvmlGpmSampleGet(device_t *device, sample_t *sample) { GATE(device); return gpm_sample(device, device->mig, sample); }
int nvmlGpmMigSampleGet(device_t *device, unsigned instance, sample_t *sample) {
    GATE(device);
    if (instance < 1 || instance > (unsigned)number_of(device, "mig", 0)) return INVALID;
    return gpm_sample(device, (int)instance - 1, sample);
}
int nvmlGpmMetricsGet(gpm_get_t *get) {
    if (!initialized) return UNINITIALIZED;
    if (get->version != 1) return 25;
    pause_us((long)number("gpm_delay_us", 0));
    device_t device = { get->newer->gpu, get->newer->mig };
    int code = (int)number_of(&device, "fail.nvmlGpmMetricsGet", OK);
    if (code) return code;
    for (unsigned i = 0; i < get->count; i++) {
        char key[48], value[96];
        gpm_metric_t *metric = &get->metrics[i];
        snprintf(key, sizeof key, "gpm.%u", metric->id);
        if (get->newer->at_ms - get->older->at_ms < GPM_MIN_MS) metric->code = NOT_READY;
        else if (!find_of(&device, key, value)) metric->code = NOT_SUPPORTED;
        else {
            metric->code = OK;
            metric->value = strtod(value, NULL); /* "nan" is understood */
        }
    }
    return OK;
}
#endif

typedef struct { int mask[MAX_GPUS]; long seen; } event_set_t;
typedef struct { device_t *device; unsigned long long type, data; unsigned gi, ci; } event_t;
static long next_event(event_set_t *set, event_t *event) { /* returns the serial, 0 when there is none */
    long best = 0;
    pthread_mutex_lock(&lock);
    refresh();
    for (int i = 0; i < entry_count; i++) {
        long serial;
        int gpu;
        unsigned long long code;
        if (sscanf(entries[i].key, "xid.%ld", &serial) != 1 || serial <= set->seen) continue;
        if (sscanf(entries[i].value, "%d %llu", &gpu, &code) != 2 || (best && serial > best)) continue;
        best = serial;
        if (event) *event = (event_t){ &devices[gpu][0], 8, code, 0xFFFFFFFFu, 0xFFFFFFFFu };
    }
    pthread_mutex_unlock(&lock);
    return best;
}
int nvmlEventSetCreate(event_set_t **set) {
    *set = calloc(1, sizeof **set);
    for (long serial; (serial = next_event(*set, NULL));) (*set)->seen = serial;
    return OK;
}
int nvmlDeviceRegisterEvents(device_t *device, unsigned long long kinds, event_set_t *set) {
    GATE(device);
    set->mask[device->gpu] = (int)kinds;
    return OK;
}
int nvmlEventSetWait_v2(event_set_t *set, event_t *event, unsigned timeout_ms) {
    const char *every = getenv("NVMLSTUB_CHECK_MS");
    long nap_ms = every && atol(every) > 200 ? atol(every) : 200;
    for (double since = now_ms(); now_ms() - since < timeout_ms; pause_us(nap_ms * 1000)) {
        long serial = next_event(set, event);
        if (!serial) continue;
        set->seen = serial;
        if (set->mask[event->device->gpu]) return OK;
    }
    return TIMEOUT;
}
int nvmlEventSetFree(event_set_t *set) { free(set); return OK; }
