/* Starting processes: two ranks with five spares. The program is its own child: an argument says its part. */
#include "check.h"

#include <unistd.h>

static char *self;

static int error_class(int code) {
    int found = -1;
    MPI_Error_class(code, &found);
    return found;
}

static int environment(int keyval) {
    int *value, flag;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag));
    CHECK(flag);
    return flag ? *value : -1;
}

/* Both sides: sum the ranks of the other, and meet in one communicator. */
static void meet(MPI_Comm inter, int high, int remote) {
    int rank, size, sum = -1, one = 1;
    MPI_Comm all;
    OK(MPI_Comm_remote_size(inter, &size));
    CHECK(size == remote);
    MPI_Comm_rank(inter, &rank);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK(sum == remote * (remote - 1) / 2);
    OK(MPI_Intercomm_merge(inter, high, &all));
    MPI_Comm_size(inter, &size);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == size + remote);
    OK(MPI_Comm_free(&all));
}

static int child(int argc, char **argv, MPI_Comm parent) {
    int size, length, code = failures;
    char directory[4096], name[MPI_MAX_OBJECT_NAME];
    MPI_Comm again;
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    OK(MPI_Comm_get_parent(&again));
    CHECK(again == parent);
    OK(MPI_Comm_get_name(parent, name, &length));
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(environment(MPI_UNIVERSE_SIZE) == 7);
    if (!strcmp(argv[1], "two")) {
        CHECK(argc == 4 && !strcmp(argv[2], "a b") && !strcmp(argv[3], ""));
        CHECK(size == 2 && environment(MPI_APPNUM) == 0);
        meet(parent, 1, 2);
    } else if (!strcmp(argv[1], "first") || !strcmp(argv[1], "second")) {
        CHECK(size == 2 && environment(MPI_APPNUM) == !strcmp(argv[1], "second"));
        meet(parent, 1, 2);
    } else {
        CHECK(getcwd(directory, sizeof directory) && !strcmp(directory, "/"));
        meet(parent, 1, 1);
    }
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Comm_get_parent(&again));
    CHECK(again == MPI_COMM_NULL);
    code = failures;
    OK(MPI_Finalize());
    return code != 0;
}

static void refused(void) {
    int codes[9], i;
    MPI_Comm inter = MPI_COMM_NULL;
    for (i = 0; i < 9; i++) codes[i] = MPI_SUCCESS;
    CHECK(error_class(MPI_Comm_spawn(self, MPI_ARGV_NULL, 9, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes)) ==
          MPI_ERR_SPAWN);
    for (i = 0; i < 9; i++) CHECK(error_class(codes[i]) == MPI_ERR_SPAWN);
    CHECK(error_class(MPI_Comm_spawn("/nowhere/at/all", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                                     MPI_ERRCODES_IGNORE)) == MPI_ERR_SPAWN);
    CHECK(error_class(MPI_Comm_spawn(self, MPI_ARGV_NULL, 0, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &inter, codes)) ==
          MPI_ERR_ARG);
    CHECK(error_class(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 2, MPI_COMM_WORLD, &inter, codes)) ==
          MPI_ERR_ROOT);
    CHECK(inter == MPI_COMM_NULL);
}

static void one_program(void) {
    int codes[2] = {-1, -1};
    char *arguments[] = {"two", "a b", "", NULL};
    MPI_Comm inter;
    OK(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &inter, codes));
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
    meet(inter, 0, 2);
    OK(MPI_Comm_disconnect(&inter));
    CHECK(inter == MPI_COMM_NULL);
}

static void two_programs(int rank) {
    int codes[2] = {-1, -1}, counts[2] = {1, 1};
    char *first[] = {"first", NULL}, *second[] = {"second", NULL};
    char **arguments[] = {first, second}, *commands[] = {self, self};
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    if (rank == 0)
        OK(MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &inter, codes));
    else /* which means something at the root only */
        OK(MPI_Comm_spawn_multiple(0, NULL, NULL, NULL, NULL, 0, MPI_COMM_WORLD, &inter, codes));
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
    meet(inter, 0, 2);
    OK(MPI_Comm_disconnect(&inter));
}

/* One spare is left on NICs; without NICs also those whose processes have left by now. */
static void as_many_as_there_are(void) {
    int codes[9], i, started = 0;
    char *arguments[] = {"last", NULL};
    MPI_Info info;
    MPI_Comm inter;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "soft", "1:9"));
    OK(MPI_Info_set(info, "wdir", "/"));
    OK(MPI_Comm_spawn(self, arguments, 9, info, 0, MPI_COMM_SELF, &inter, codes));
    while (started < 9 && codes[started] == MPI_SUCCESS) started++;
    CHECK(started >= 1 && started <= 5);
    for (i = started; i < 9; i++) CHECK(error_class(codes[i]) == MPI_ERR_SPAWN);
    meet(inter, 0, started);
    OK(MPI_Comm_disconnect(&inter));
    OK(MPI_Info_free(&info));
}

/* Ports that are not open: never opened, closed before, and closed while a process waits there. */
static void ports(int rank) {
    char name[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    CHECK(error_class(MPI_Comm_connect("nowhere", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
    if (rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, name));
        OK(MPI_Send(name, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
        while (MPI_Wtime() < 0.01) continue; /* rank 1 waits by now */
        OK(MPI_Close_port(name));
    } else {
        OK(MPI_Recv(name, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(error_class(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
        CHECK(error_class(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
    }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) return child(argc, argv, parent);
    self = argv[0];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(environment(MPI_UNIVERSE_SIZE) == 7);
    refused();
    one_program();
    two_programs(rank);
    if (rank == 0) as_many_as_there_are();
    ports(rank);
    return finish();
}
