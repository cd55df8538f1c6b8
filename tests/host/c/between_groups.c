/* Wrong arguments on an inter-communicator, and wrong keys of attributes: the class of each answer. Two processes. */
#include <mpi.h>
#include <stdio.h>

static int rank;

#define TRY(call) say(#call, call)
static void say(const char *text, int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    if (!rank) printf("%s: %d\n", text, class);
}

int main(int argc, char **argv) {
    MPI_Comm inter, made = MPI_COMM_NULL;
    MPI_Group group;
    int one = 1, zero = 0, flag, key, freed, type_key, word = 0, words[4] = {0};
    void *value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 5, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_group(inter, &group);

    TRY(MPI_Send(&word, 1, MPI_INT, 1, 0, inter));
    TRY(MPI_Recv(&word, 1, MPI_INT, 1, 0, inter, MPI_STATUS_IGNORE));
    TRY(MPI_Bcast(&word, 1, MPI_INT, 1, inter));
    TRY(MPI_Scan(&word, words, 1, MPI_INT, MPI_SUM, inter));
    TRY(MPI_Exscan(&word, words, 1, MPI_INT, MPI_SUM, inter));
    TRY(MPI_Cart_create(inter, 1, &one, &one, 0, &made));
    TRY(MPI_Graph_create(inter, 1, &one, &zero, 0, &made));
    TRY(MPI_Comm_create_group(inter, group, 3, &made));
    TRY(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 1 - rank, 6, &made));
    TRY(MPI_Intercomm_create(MPI_COMM_SELF, 1, MPI_COMM_WORLD, 1 - rank, 6, &made));
    TRY(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_NULL, 1 - rank, 6, &made));
    TRY(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 2, 6, &made));
    TRY(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &made));
    TRY(MPI_Comm_remote_size(MPI_COMM_WORLD, words));
    TRY(MPI_Comm_remote_group(MPI_COMM_WORLD, &group));
    TRY(MPI_Bcast(&word, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD));

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &freed, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    int gone = freed, again = MPI_KEYVAL_INVALID, tag_ub = MPI_TAG_UB;
    MPI_Comm_free_keyval(&freed);
    TRY(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &word));
    TRY(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag));
    TRY(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID));
    TRY(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &word));
    TRY(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB));
    TRY(MPI_Comm_set_attr(MPI_COMM_WORLD, type_key, &word));
    TRY(MPI_Comm_get_attr(MPI_COMM_WORLD, type_key, &value, &flag));
    TRY(MPI_Type_set_attr(MPI_INT, key, &word));
    TRY(MPI_Comm_free_keyval(&again));
    TRY(MPI_Comm_free_keyval(&tag_ub));
    TRY(MPI_Comm_set_attr(MPI_COMM_WORLD, gone, &word));
    TRY(MPI_Comm_set_attr(MPI_COMM_NULL, key, &word));
    MPI_Finalize();
    return 0;
}
