/* Files from C: both ABIs' numbers and handles, views, every kind of pointer, error handlers, own representations. */
#include "check.h"
#include <unistd.h>

static int rank, size;
static char name[200];
static int called_with;
static MPI_File told;

static void handler(MPI_File *file, int *code, ...) {
    told = *file;
    MPI_Error_class(*code, &called_with);
}

/* One name for all ranks. */
static void agree_on_a_name(void) {
    if (!rank) {
        strcpy(name, "/tmp/lanai_files_XXXXXX");
        close(mkstemp(name));
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static int elements(MPI_Status *status, MPI_Datatype type) {
    int count;
    OK(MPI_Get_count(status, type, &count));
    return count;
}

static void opening(void) {
    MPI_File file;
    MPI_Group group, world;
    MPI_Info info;
    MPI_Offset bytes;
    char value[40];
    int amode, result, flag, class, length = sizeof value;
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_UNIQUE_OPEN, MPI_INFO_NULL,
                     &file));
    OK(MPI_File_get_amode(file, &amode));
    CHECK(amode == (MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_UNIQUE_OPEN));
    OK(MPI_File_get_group(file, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_compare(group, world, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    OK(MPI_File_set_size(file, 1000));
    OK(MPI_File_preallocate(file, 500));
    OK(MPI_File_get_size(file, &bytes));
    CHECK(bytes == 1000);
    OK(MPI_File_get_info(file, &info));
    OK(MPI_Info_get_string(info, "cb_nodes", &length, value, &flag));
    CHECK(flag && atoi(value) == size);
    OK(MPI_File_set_info(file, info));
    OK(MPI_Info_free(&info));
    OK(MPI_File_set_atomicity(file, 1));
    OK(MPI_File_get_atomicity(file, &flag));
    CHECK(flag);
    CHECK(MPI_File_fromint(MPI_File_toint(file)) == file);
    OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    MPI_Error_class(MPI_File_open(MPI_COMM_WORLD, "/no/such/place", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), &class);
    CHECK(class == MPI_ERR_NO_SUCH_FILE);
    MPI_Error_class(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_RDONLY, MPI_INFO_NULL, &file), &class);
    CHECK(class == MPI_ERR_AMODE);
    MPI_Error_class(MPI_File_open(MPI_COMM_WORLD, name, 1 << 20, MPI_INFO_NULL, &file), &class);
    CHECK(class == MPI_ERR_AMODE);
}

static void views(void) {
    enum { N = 6 };
    MPI_File file;
    MPI_Datatype tile, wide, etype, filetype;
    MPI_Status status;
    MPI_Offset disp, at;
    char datarep[MPI_MAX_DATAREP_STRING];
    int mine[N], back[N], all[3 * N], i, combiner, a, b, c;
    OK(MPI_Type_vector(2, 1, size, MPI_INT, &tile));
    OK(MPI_Type_create_resized(tile, 0, 2 * size * (int)sizeof(int), &wide));
    OK(MPI_Type_commit(&wide));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_set_size(file, 0));
    OK(MPI_File_set_view(file, rank * sizeof(int), MPI_INT, wide, "native", MPI_INFO_NULL));
    OK(MPI_Type_free(&wide));
    OK(MPI_Type_free(&tile));
    OK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep));
    CHECK(disp == (MPI_Offset)(rank * sizeof(int)) && etype == MPI_INT && !strcmp(datarep, "native"));
    OK(MPI_Type_get_envelope(filetype, &a, &b, &c, &combiner));
    CHECK(combiner == MPI_COMBINER_RESIZED);
    OK(MPI_Type_free(&filetype));
    for (i = 0; i < N; i++) mine[i] = i * size + rank;
    OK(MPI_File_write_all(file, mine, N, MPI_INT, &status));
    CHECK(elements(&status, MPI_INT) == N);
    OK(MPI_File_get_byte_offset(file, 3, &at));
    CHECK(at == (MPI_Offset)((3 * size + rank) * sizeof(int)));
    OK(MPI_File_seek(file, -2, MPI_SEEK_CUR));
    OK(MPI_File_get_position(file, &at));
    CHECK(at == N - 2);
    OK(MPI_File_read(file, back, 2, MPI_INT, &status));
    CHECK(elements(&status, MPI_INT) == 2 && back[0] == mine[N - 2] && back[1] == mine[N - 1]);
    OK(MPI_File_seek(file, 0, MPI_SEEK_END));
    OK(MPI_File_read_c(file, back, (MPI_Count)2, MPI_INT, &status));
    CHECK(elements(&status, MPI_INT) == 0);
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at_all(file, 0, all, N * size, MPI_INT, &status));
    for (i = 0; i < N * size; i++) CHECK(all[i] == i);
    OK(MPI_File_close(&file));
}

static void pointers(void) {
    MPI_File file;
    MPI_Request requests[2];
    MPI_Status statuses[2], status;
    MPI_Offset at;
    int two[2] = {rank, rank}, back[2], i, j, found[12], seen[3] = {0, 0, 0};
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_set_size(file, 0));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_shared(file, two, 2, MPI_INT, &status));
    OK(MPI_File_iwrite_shared(file, two, 2, MPI_INT, &requests[0]));
    OK(MPI_File_iread_at(file, 100, back, 2, MPI_INT, &requests[1]));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK(elements(&statuses[0], MPI_INT) == 2 && elements(&statuses[1], MPI_INT) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_position_shared(file, &at));
    CHECK(at == 4 * size);
    OK(MPI_File_read_at(file, 0, found, 4 * size, MPI_INT, &status));
    for (i = 0; i < 4 * size; i += 2) {
        CHECK(found[i] == found[i + 1]);
        seen[found[i]]++;
    }
    for (j = 0; j < size; j++) CHECK(seen[j] == 2);
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_File_write_ordered_begin(file, two, rank, MPI_INT));
    OK(MPI_File_write_ordered_end(file, two, &status));
    CHECK(elements(&status, MPI_INT) == rank);
    OK(MPI_File_sync(file));
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_iread_all(file, found, size * (size - 1) / 2, MPI_INT, &requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    for (i = 0, j = 1; j < size; j++)
        for (int k = 0; k < j; k++) CHECK(found[i++] == j);
    OK(MPI_File_close(&file));
}

static void handlers(void) {
    MPI_File file, closed;
    MPI_Errhandler mine, got;
    int code, class;
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
    code = MPI_File_delete("/no/such/file", MPI_INFO_NULL);
    CHECK(code != MPI_SUCCESS && called_with == MPI_ERR_NO_SUCH_FILE && told == MPI_FILE_NULL);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    CHECK(MPI_File_write(file, &code, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(called_with == MPI_ERR_READ_ONLY && told == file);
    OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    called_with = 0;
    MPI_Error_class(MPI_File_seek(file, 0, 77), &class);
    CHECK(class == MPI_ERR_ARG && !called_with);
    OK(MPI_File_set_errhandler(file, mine));
    OK(MPI_File_call_errhandler(file, MPI_ERR_OTHER));
    CHECK(called_with == MPI_ERR_OTHER);
    OK(MPI_Errhandler_free(&mine));
    closed = file;
    OK(MPI_File_close(&file));
    MPI_Error_class(MPI_File_seek(closed, 0, MPI_SEEK_SET), &class);
    CHECK(class == MPI_ERR_FILE);
}

/* A representation that keeps each int as its decimal digits. */
enum { DIGITS = 8 };
static int extents(MPI_Datatype type, MPI_Aint *extent, void *state) {
    CHECK(state == &failures);
    *extent = type == MPI_INT ? DIGITS : 0;
    return MPI_SUCCESS;
}
static int from_digits(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state) {
    char one[DIGITS + 1] = "";
    (void)type, (void)state;
    for (int i = 0; i < count; i++)
        memcpy(one, (char *)file + i * DIGITS, DIGITS), ((int *)user)[position + i] = atoi(one);
    return MPI_SUCCESS;
}
static int to_digits(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state) {
    char one[DIGITS + 1];
    (void)type, (void)state;
    for (int i = 0; i < count; i++) {
        snprintf(one, sizeof one, "%8d", ((int *)user)[position + i]);
        memcpy((char *)file + i * DIGITS, one, DIGITS);
    }
    return MPI_SUCCESS;
}

static void representations(void) {
    MPI_File file;
    MPI_Aint extent;
    MPI_Status status;
    int values[3] = {17, -4, 123456}, back[3] = {0, 0, 0}, class;
    unsigned char bytes[12];
    char text[3 * DIGITS + 1] = "";
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    OK(MPI_File_write_at(file, 0, values, 3, MPI_INT, &status));
    OK(MPI_File_read_at(file, 0, back, 3, MPI_INT, &status));
    CHECK(elements(&status, MPI_INT) == 3 && !memcmp(values, back, sizeof back));
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read(file, bytes, 12, MPI_BYTE, &status));
    CHECK(bytes[3] == 17 && bytes[4] == 0xFF && bytes[7] == 0xFC);
    OK(MPI_Register_datarep("digits", from_digits, to_digits, extents, &failures));
    MPI_Error_class(MPI_Register_datarep("digits", from_digits, to_digits, extents, &failures), &class);
    CHECK(class == MPI_ERR_DUP_DATAREP);
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "digits", MPI_INFO_NULL));
    OK(MPI_File_get_type_extent(file, MPI_INT, &extent));
    CHECK(extent == DIGITS);
    OK(MPI_File_write(file, values, 3, MPI_INT, &status));
    memset(back, 0, sizeof back);
    OK(MPI_File_read_at(file, 0, back, 3, MPI_INT, &status));
    CHECK(elements(&status, MPI_INT) == 3 && !memcmp(values, back, sizeof back));
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read(file, text, 3 * DIGITS, MPI_BYTE, &status));
    CHECK(!strcmp(text, "      17      -4  123456"));
    MPI_Error_class(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "letters", MPI_INFO_NULL), &class);
    CHECK(class == MPI_ERR_UNSUPPORTED_DATAREP);
    OK(MPI_File_close(&file));
}

static void sequential(void) {
    MPI_File file;
    MPI_Status status;
    int one = 5, class;
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
    OK(MPI_File_write_shared(file, &one, 1, MPI_INT, &status));
    OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_shared(file, &one, 1, MPI_INT, &status));
    MPI_Error_class(MPI_File_seek(file, 0, MPI_SEEK_SET), &class);
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION);
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv) {
    OK(MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    agree_on_a_name();
    opening();
    views();
    pointers();
    handlers();
    if (!rank) representations(), sequential();
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) OK(MPI_File_delete(name, MPI_INFO_NULL));
    return finish();
}
