/* The end of the program of tests/host/abi/test_wrong_between_groups.py: the tables `cases` and `partners` stand before
   it. Arguments: return or user, for the error handlers; the first case to try; seconds that a case may take. Process
   0 prints number, class, handlers and text of each answer. */
static void begin_groups(int rank, int handled) {
    MPI_Comm peers, mine;
    MPI_Comm_dup(MPI_COMM_WORLD, &peers);
    MPI_Comm_split(peers, rank == 1, rank, &mine);
    MPI_Intercomm_create(mine, 0, peers, rank != 1, 5, &comm);
    make_objects(MPI_ERRORS_RETURN);
    make_freed();
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!handled) return;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)on_own, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)on_self, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)on_world, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
}

static void try_case(int number) {
    char said[MPI_MAX_ERROR_STRING] = "";
    int class = MPI_SUCCESS, length;
    called[0] = 0;
    int code = cases[number]();
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        MPI_Error_string(code, said, &length);
        for (char *c = said; *c; c++)
            if (*c == '\n' || *c == '|') *c = ' ';
    }
    printf("%d|%s|%s|%s\n", number, name_of(class), called, said);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int rank, total = sizeof cases / sizeof cases[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin_groups(rank, !strcmp(argv[1], "user"));
    for (int number = atoi(argv[2]); number < total; number++) {
        if (rank == 0) {
            alarm(atoi(argv[3])); /* a call that is not refused may wait for ever */
            try_case(number);
        } else if (partners[number][rank - 1]) {
            partners[number][rank - 1]();
        }
    }
    alarm(0);
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0); /* requests that were accepted are no test of MPI_Finalize */
}
