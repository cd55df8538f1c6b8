/* The front of the MPI library: finds or starts a Python, and lets it fill the table that all MPI functions call
   through.

   It links with no libpython. In a Python process it uses the interpreter that is there, however that was built; in any
   other program it loads the libpython that a file beside the library names. The generated part follows this text. */

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { COLD, READY, DEAD };
static volatile int lanai_state = COLD;
static pthread_once_t lanai_once = PTHREAD_ONCE_INIT;

static void lanai_fail(const char *what, const char *value, const char *remedy) {
    fprintf(stderr, "lanai: error: %s '%s'; %s\n", what, value, remedy);
    fflush(stderr);
    _Exit(2);
}

static void *lanai_python(const char *name) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol) lanai_fail("this process's Python lacks", name, "run the program with CPython 3.11 or later");
    return symbol;
}

/* What the file LANAI_START beside this library says: an interpreter, its libpython, and the text that Python runs. */
static struct {
    const char *python, *library, *boot;
} lanai_place;

static void lanai_read_place(void) {
    static char text[1 << 16];
    char path[4096];
    Dl_info here;
    ssize_t size = 0, read_now = 1;
    int folder, file;
    if (!dladdr((void *)lanai_read_place, &here) || !here.dli_fname) lanai_fail("this library", "?", "has no file");
    folder = (int)(strrchr(here.dli_fname, '/') ? strrchr(here.dli_fname, '/') - here.dli_fname + 1 : 0);
    snprintf(path, sizeof path, "%.*s%s", folder, here.dli_fname, LANAI_START);
    file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && read_now > 0 && size < (ssize_t)sizeof text) {
        read_now = read(file, text + size, sizeof text - size);
        if (read_now > 0) size += read_now;
    }
    if (file >= 0) close(file);
    lanai_place.python = text;
    lanai_place.library = lanai_place.python + strlen(text) + 1;
    if (size && size < (ssize_t)sizeof text) lanai_place.boot = lanai_place.library + strlen(lanai_place.library) + 1;
    if (!lanai_place.boot || lanai_place.boot >= text + size)
        lanai_fail("cannot read", path, "start the program with `lanai run`, which sees to it that this file is there");
}

static void lanai_start_python(void) {
    const char *library = getenv("LANAI_LIBPYTHON");
    const char *program = getenv("LANAI_PYTHON");
    static wchar_t wide[4096];
    if (!library) library = lanai_place.library;
    if (!program) program = lanai_place.python;
    if (!*library)
        lanai_fail(
            "no shared libpython belongs to", program,
            "C programs need one: use a Python built with --enable-shared, or set LANAI_LIBPYTHON to its libpython");
    if (!dlopen(library, RTLD_NOW | RTLD_GLOBAL))
        lanai_fail("cannot load libpython:", dlerror(),
                   "set LANAI_LIBPYTHON to the libpython of the Python that has openlanai");
    /* numpy serves this library alone; its threads would count as the program's */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    mbstowcs(wide, program, sizeof wide / sizeof *wide - 1);
    ((void (*)(const wchar_t *))lanai_python("Py_SetProgramName"))(wide);
    ((void (*)(int))lanai_python("Py_InitializeEx"))(0); /* 0: the program's signal handlers stay as they are */
    ((void *(*)(void))lanai_python("PyEval_SaveThread"))();
}

static void lanai_boot(void) {
    lanai_read_place();
    size_t size = strlen(lanai_place.boot) + 256; /* with what is put in */
    char text[size];
    int *dead = (int *)&lanai_state;
    int started, failed;
    int (*initialized)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    struct sigaction interrupt; /* Python's own handler comes with its module signal, whatever it is told */
    sigaction(SIGINT, 0, &interrupt);
    started = !initialized || !initialized();
    if (started) lanai_start_python();
    int gil = ((int (*)(void))lanai_python("PyGILState_Ensure"))();
    snprintf(text, size, lanai_place.boot, (void *)&lanai_table, (void *)dead, started, (void *)MPI_UNWEIGHTED,
             (void *)MPI_WEIGHTS_EMPTY);
    failed = ((int (*)(const char *))lanai_python("PyRun_SimpleString"))(text);
    ((void (*)(int))lanai_python("PyGILState_Release"))(gil);
    if (started) sigaction(SIGINT, &interrupt, 0);
    if (failed)
        lanai_fail("the MPI library could not start in Python",
                   ((const char *(*)(void))lanai_python("Py_GetVersion"))(),
                   "the lines above say why; LANAI_PYTHON chooses the Python that has openlanai");
    lanai_state = READY;
}

/* Functions that answer calls without Python; each returns whether it has. Null: Python is asked. `codes` is the first
   argument of those for error classes and codes. Python fills this in (in_c.py). */
__attribute__((visibility("default"))) struct {
    void *codes;
    int (*add_class)(void *, int *), (*add_code)(void *, int, int *), (*set_text)(void *, int, const char *);
    int (*remove_class)(void *, int), (*remove_code)(void *, int);
    int (*ready)(intptr_t, int), (*arrived)(intptr_t, int, int *);
} lanai_in_c;

/* The address after the program's last call of an MPI function, by the thread that asks. */
static __thread void *lanai_caller;

/* Whether an address lies in a library with bindings of MPI, such as those of Fortran: they call for the program. */
static int lanai_in_bindings(void *address) {
    Dl_info found;
    const char *name;
    if (!dladdr(address, &found) || !found.dli_fname) return 0;
    name = strrchr(found.dli_fname, '/');
    return !strncmp(name ? name + 1 : found.dli_fname, "libmpi", 6);
}

/* The address from which the program called; that of its call of the bindings, if those have called. */
__attribute__((visibility("default"))) uintptr_t lanai_call_site(void) {
    static __thread void *programs[64]; /* addresses that are known to be the program's own */
    void **known = &programs[(uintptr_t)lanai_caller / 4 % 64];
    void *frames[256];
    int count, i = 0;
    if (*known == lanai_caller) return (uintptr_t)lanai_caller;
    if (!lanai_in_bindings(lanai_caller)) return (uintptr_t)(*known = lanai_caller);
    count = backtrace(frames, sizeof frames / sizeof *frames);
    while (i < count && frames[i] != lanai_caller) i++;
    while (i < count && lanai_in_bindings(frames[i])) i++;
    return (uintptr_t)(i < count ? frames[i] : lanai_caller);
}

/* The frame of the MPI function that the program called last, by the thread that asks. */
static __thread void **lanai_frame;

/* Stack pointer and frame pointer of the program at its call; 0 where they are not known: on other machines than
   x86-64, and where bindings have called. */
__attribute__((visibility("default"))) int lanai_call_frame(uintptr_t *stack, uintptr_t *base) {
#ifdef __x86_64__
    if (lanai_call_site() != (uintptr_t)lanai_caller) return 0;
    *base = (uintptr_t)lanai_frame[0]; /* saved by the function; the return address follows */
    *stack = (uintptr_t)(lanai_frame + 2);
    return 1;
#else
    (void)stack, (void)base;
    return 0;
#endif
}

/* Whether the table may be used. Not after the interpreter has ended: mpi4py asks MPI_Finalized that late. */
static int lanai_enter(void) {
    int outer = in_library(1);
    if (lanai_state == COLD) pthread_once(&lanai_once, lanai_boot);
    in_library(outer);
    return lanai_state == READY;
}

/* `in_library` for Python. */
__attribute__((visibility("default"))) int lanai_in_library(int inside) {
    return in_library(inside);
}

/* The launcher has started this process to fork the ranks of its program from it (lanai_host.simulator.forking): it
   does not come out of here, but the ranks do, and go on to main. */
__attribute__((constructor)) static void lanai_serve(void) {
    if (!getenv("LANAI_PROGRAM_FD") || !lanai_enter()) return;
    int outer = in_library(1), gil = ((int (*)(void))lanai_python("PyGILState_Ensure"))();
    const char *serve = "from lanai_host.simulator.forking import serve_program; serve_program(); del serve_program";
    int failed = ((int (*)(const char *))lanai_python("PyRun_SimpleString"))(serve);
    ((void (*)(int))lanai_python("PyGILState_Release"))(gil);
    if (failed) _Exit(2);
    in_library(outer);
}
