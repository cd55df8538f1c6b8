/* The numbers that differ between ABIs: special ranks and tags, levels, comparisons, codes, choices, handles. */
#include "check.h"

#define KEPT 3 /* an attribute's value */

static int freed;

static int forget(MPI_Comm comm, int keyval, void *value, void *extra) {
    (void)comm, (void)keyval;
    CHECK(*(int *)value == KEPT && extra == &freed);
    freed++;
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void *extra, void *value, void *copy, int *flag) {
    (void)comm, (void)keyval, (void)extra, (void)value, (void)copy, (void)flag;
    return MPI_ERR_KEYVAL;
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...) {
    CHECK(*comm == MPI_COMM_SELF);
    MPI_Error_class(*code, &handled);
}

static int class_of(int code) {
    int kind;
    OK(MPI_Error_class(code, &kind));
    return kind;
}

static void levels(int provided) {
    int level;
    CHECK(provided == MPI_THREAD_SERIALIZED);
    OK(MPI_Query_thread(&level));
    CHECK(level == provided);
}

static void ranks_and_tags(int rank, int size) {
    int in = -1, before, after, next = (rank + 1) % size;
    MPI_Status status;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 5, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == in && status.MPI_TAG == 5);
    OK(MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Request none = MPI_REQUEST_NULL;
    OK(MPI_Wait(&none, &status));
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && status.MPI_ERROR == MPI_SUCCESS);
    MPI_Comm line;
    int open = 0, coords = 0;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open, 0, &line));
    OK(MPI_Cart_shift(line, 0, 1, &before, &after));
    CHECK(before == (rank ? rank - 1 : MPI_PROC_NULL));
    CHECK(after == (rank + 1 < size ? rank + 1 : MPI_PROC_NULL));
    OK(MPI_Topo_test(line, &coords));
    CHECK(coords == MPI_CART);
    OK(MPI_Comm_free(&line));
    int asked[2] = {MPI_PROC_NULL, 0}, told[2];
    MPI_Group world, self;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Comm_group(MPI_COMM_SELF, &self));
    OK(MPI_Group_translate_ranks(world, 2, asked, self, told));
    CHECK(told[0] == MPI_PROC_NULL && told[1] == (rank ? MPI_UNDEFINED : 0));
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&self));
}

static void comparisons(void) {
    MPI_Comm copy, shared;
    int result;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Comm_compare(copy, copy, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    OK(MPI_Comm_free(&shared));
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(copy)) == copy);
    OK(MPI_Comm_free(&copy));
    CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE);
}

static void collectives(int rank, int size) {
    int sum = 1;
    OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size);
    int all[16] = {0};
    all[rank] = rank + 1;
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD));
    CHECK(all[0] == 1 && all[size - 1] == size);
}

static void errors(void) {
    int code, kind, value = KEPT, key, found, added;
    void *held;
    MPI_Errhandler mine;
    MPI_Comm copy;
    OK(MPI_Comm_create_errhandler(handler, &mine));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine));
    code = MPI_Send(0, 0, MPI_INT, MPI_ROOT, 0, MPI_COMM_SELF); /* no rank to send to, in either ABI */
    CHECK(handled == MPI_ERR_RANK && class_of(code) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Send(0, 0, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_SELF)) == MPI_ERR_TAG);
    CHECK(class_of(MPI_Send(0, -1, MPI_INT, 0, 0, MPI_COMM_SELF)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_TOPOLOGY)) == MPI_SUCCESS);
    CHECK(handled == MPI_ERR_TOPOLOGY);
    OK(MPI_Add_error_class(&kind));
    OK(MPI_Add_error_code(kind, &added));
    CHECK(kind > MPI_ERR_LASTCODE && class_of(added) == kind);
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, &freed));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &value));
    OK(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
    CHECK(freed == 1);
    OK(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, 0));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &value));
    CHECK(class_of(MPI_Comm_dup(MPI_COMM_SELF, &copy)) == MPI_ERR_KEYVAL);
    OK(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, 0));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &value));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
    OK(MPI_Comm_get_attr(copy, key, &held, &found));
    CHECK(found && held == &value);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &held, &found));
    CHECK(found && *(int *)held >= 32767);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &held, &found));
    CHECK(found && *(int *)held == MPI_ANY_SOURCE);
    OK(MPI_Errhandler_free(&mine));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

static void truncation(void) {
    int two[2] = {1, 2}, one;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    OK(MPI_Irecv(&one, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]));
    OK(MPI_Isend(two, 2, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]));
    CHECK(class_of(MPI_Waitall(2, requests, statuses)) == MPI_ERR_IN_STATUS);
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
}

static void datatypes(void) {
    int sizes[2] = {4, 4}, deals[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {2, 1}, integers[12];
    int ni, na, nd, combiner, bytes;
    MPI_Datatype made, inner, found;
    OK(MPI_Type_create_darray(2, 0, 2, sizes, deals, arguments, grid, MPI_ORDER_FORTRAN, MPI_INT, &made));
    OK(MPI_Type_size(made, &bytes));
    CHECK(bytes == 32);
    OK(MPI_Type_get_envelope(made, &ni, &na, &nd, &combiner));
    CHECK(ni == 12 && na == 0 && nd == 1 && combiner == MPI_COMBINER_DARRAY);
    OK(MPI_Type_get_contents(made, ni, na, nd, integers, 0, &inner));
    CHECK(inner == MPI_INT && integers[5] == MPI_DISTRIBUTE_BLOCK && integers[11] == MPI_ORDER_FORTRAN);
    OK(MPI_Type_free(&made));
    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &found));
    OK(MPI_Type_size(found, &bytes));
    CHECK(bytes == 8);
}

/* Fortran's types and logical values are known, and are not the program's to set. */
static void fortran(void) {
    int yes = 7, no = 7, set = 7;
    MPI_Info info;
    OK(MPI_Abi_get_fortran_booleans(sizeof(int), &yes, &no, &set));
    CHECK(yes == 1 && no == 0 && set == 1);
    OK(MPI_Abi_get_fortran_info(&info));
#ifdef MPICH_NUMVERSION
    CHECK(info == MPI_INFO_NULL);
#else
    char value[MPI_MAX_INFO_VAL];
    int found, size;
    OK(MPI_Info_get(info, "mpi_double_precision_size", MPI_MAX_INFO_VAL - 1, value, &found));
    OK(MPI_Type_size(MPI_DOUBLE_PRECISION, &size));
    CHECK(found && atoi(value) == size);
    OK(MPI_Info_get(info, "mpi_logical8_supported", MPI_MAX_INFO_VAL - 1, value, &found));
    CHECK(found && !strcmp(value, "true"));
    OK(MPI_Info_free(&info));
#endif
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK(class_of(MPI_Abi_get_fortran_booleans(3, &yes, &no, &set)) == MPI_ERR_ABI);
    CHECK(class_of(MPI_Abi_set_fortran_booleans(sizeof(int), &yes, &no)) == MPI_ERR_ABI);
    CHECK(class_of(MPI_Abi_set_fortran_info(info)) == MPI_ERR_ABI);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv) {
    int rank, size, provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    levels(provided);
    ranks_and_tags(rank, size);
    comparisons();
    collectives(rank, size);
    errors();
    truncation();
    datatypes();
    fortran();
    return finish();
}
