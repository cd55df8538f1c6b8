/* Buffers that cannot be read or written: the call that names one fails, with its address; no other message does. */
#include <sys/mman.h>

#include "check.h"

enum { PAGE = 4096, ROOM = 8 * PAGE };

static const int sizes[] = {1, 64, 600, 4000, 20000};
static int rank, other, on_nics;
static char *sound;

static char *pages(int protection) {
    char *memory = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 'm', ROOM);
    mprotect(memory, ROOM, protection);
    return memory;
}

static void is_refused(int code, const char *memory) {
    char text[MPI_MAX_ERROR_STRING], address[32];
    int class, length;
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_BUFFER);
    MPI_Error_string(code, text, &length);
    snprintf(address, sizeof address, "at %p", (const void *)memory);
    CHECK(strstr(text, address));
}

/* Messages between that must arrive whole. */
static void talk(void) {
    char out[3000], in[3000] = {0};
    memset(out, 'a' + rank, sizeof out);
    OK(MPI_Sendrecv(out, sizeof out, MPI_CHAR, other, 9, in, sizeof in, MPI_CHAR, other, 9, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK(in[0] == 'a' + other && !memcmp(in, in + 1, sizeof in - 1));
}

static void refused_at_once(int size, char *nothing, char *fixed) {
    is_refused(MPI_Send(nothing, size, MPI_CHAR, other, 1, MPI_COMM_WORLD), nothing);
    talk();
    if (!rank) {
        OK(MPI_Send(fixed, size, MPI_CHAR, other, 2, MPI_COMM_WORLD)); /* that it cannot be written does not matter */
    } else {
        is_refused(MPI_Recv(fixed, size, MPI_CHAR, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), fixed);
        if (on_nics) { /* there such a receive takes no message */
            memset(sound, 0, size);
            OK(MPI_Recv(sound, size, MPI_CHAR, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(sound[0] == 'm' && sound[size - 1] == 'm');
        }
    }
    talk();
}

/* The memory goes away when the device knows of it already. */
static void lost_later(int size) {
    char *memory = pages(PROT_READ | PROT_WRITE);
    MPI_Request request;
    if (rank) {
        OK(MPI_Irecv(memory + 40, size, MPI_CHAR, other, 3, MPI_COMM_WORLD, &request));
        mprotect(memory, ROOM, PROT_READ);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank)
        OK(MPI_Send(memory, size, MPI_CHAR, other, 3, MPI_COMM_WORLD));
    else
        is_refused(MPI_Wait(&request, MPI_STATUS_IGNORE), memory + 40);
    talk();
    if (!rank) {
        OK(MPI_Issend(memory + 40, size, MPI_CHAR, other, 4, MPI_COMM_WORLD, &request));
        munmap(memory, ROOM);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) {
        int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (on_nics && size > 1024) is_refused(code, memory + 40); /* shorter ones have been copied */
    } else {
        int code = MPI_Recv(sound, size, MPI_CHAR, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE), class;
        MPI_Error_class(code, &class);
        if (on_nics && size > 1024) CHECK(class == MPI_ERR_OTHER);
    }
    talk();
}

static void in_many_runs(char *fixed) {
    MPI_Datatype strided;
    MPI_Type_vector(100, 4, 12, MPI_CHAR, &strided);
    MPI_Type_commit(&strided);
    if (!rank) {
        OK(MPI_Send(sound, 1, strided, other, 5, MPI_COMM_WORLD));
    } else {
        int class;
        MPI_Error_class(MPI_Recv(fixed, 1, strided, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
        CHECK(class == MPI_ERR_BUFFER);
    }
    MPI_Type_free(&strided);
    talk();
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    other = 1 - rank;
    on_nics = count > 1;
    sound = pages(PROT_READ | PROT_WRITE);
    char *nothing = pages(PROT_NONE), *fixed = pages(PROT_READ);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        refused_at_once(sizes[i], nothing, fixed);
        lost_later(sizes[i]);
    }
    in_many_runs(fixed);
    return finish();
}
