/* Strings longer than their buffers, in letters of two bytes: what is written ends in the buffer, between letters. */
#include "check.h"

#define GUARD 400
#define LETTERS 650

static char long_text[2 * LETTERS + 1];

static void letters(char *text, int count) {
    for (int i = 0; i < count; i++) memcpy(text + 2 * i, "\xC3\xA9", 2);
    text[2 * count] = 0;
}

/* `size` bytes may be written: the rest must be as it was, and no letter may be cut. */
static void kept(const char *buffer, int size) {
    for (int i = size; i < size + GUARD; i++) CHECK(buffer[i] == '#');
    CHECK(memchr(buffer, 0, size) != NULL);
    if (*buffer) CHECK(buffer[strlen(buffer) - 1] != '\xC3');
}

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv) {
    char buffer[2048 + GUARD], value[2048];
    int length, flag, code;
    MPI_Info info;
    MPI_Session session;
    MPI_Group group;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);

    letters(value, MPI_MAX_INFO_KEY / 2 + 1); /* one byte too long */
    CHECK(class_of(MPI_Info_set(info, value, "x")) == MPI_ERR_INFO_KEY);
    letters(value, MPI_MAX_INFO_VAL / 2);
    CHECK(class_of(MPI_Info_set(info, "key", value)) == MPI_ERR_INFO_VALUE);
    CHECK(MPI_Info_set(info, "", "x") != MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "empty", "") == MPI_SUCCESS);
    CHECK(MPI_Info_get_valuelen(info, "empty", &length, &flag) == MPI_SUCCESS && flag && length == 0);
    CHECK(MPI_Info_delete(info, "empty") == MPI_SUCCESS);
    letters(value, MPI_MAX_INFO_KEY / 2);
    value[2 * (MPI_MAX_INFO_KEY / 2) - 2] = 0; /* the longest of whole letters that has room for its end */
    CHECK(MPI_Info_set(info, value, value) == MPI_SUCCESS);
    memset(buffer, '#', sizeof buffer);
    CHECK(MPI_Info_get_nthkey(info, 0, buffer) == MPI_SUCCESS);
    kept(buffer, MPI_MAX_INFO_KEY);
    CHECK(!strcmp(buffer, value));
    for (int size = 1; size < 12; size++) {
        memset(buffer, '#', sizeof buffer);
        length = size;
        CHECK(MPI_Info_get_string(info, value, &length, buffer, &flag) == MPI_SUCCESS && flag);
        CHECK(length == (int)strlen(value) + 1);
        kept(buffer, size);
        memset(buffer, '#', sizeof buffer);
        CHECK(MPI_Info_get(info, value, size, buffer, &flag) == MPI_SUCCESS && flag);
        kept(buffer, size + 1);
    }

    letters(long_text, LETTERS);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    code = MPI_Group_from_session_pset(session, long_text, &group);
    CHECK(code != MPI_SUCCESS);
    memset(buffer, '#', sizeof buffer);
    CHECK(MPI_Error_string(code, buffer, &length) == MPI_SUCCESS);
    kept(buffer, MPI_MAX_ERROR_STRING);
    CHECK(length == (int)strlen(buffer));

    letters(value, MPI_MAX_OBJECT_NAME / 2);
    CHECK(class_of(MPI_Comm_set_name(MPI_COMM_WORLD, value)) == MPI_ERR_ARG);
    CHECK(MPI_Comm_set_name(MPI_COMM_WORLD, "\xFF\xFE") == MPI_SUCCESS); /* no UTF-8 at all */
    CHECK(MPI_Comm_get_name(MPI_COMM_WORLD, buffer, &length) == MPI_SUCCESS && length == 2 &&
          !strcmp(buffer, "\xFF\xFE"));
    CHECK(MPI_Add_error_class(&code) == MPI_SUCCESS);
    CHECK(class_of(MPI_Add_error_string(code, long_text)) == MPI_ERR_ARG);
    MPI_Info_free(&info);
    MPI_Session_finalize(&session);
    return finish();
}
