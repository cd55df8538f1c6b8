/* A tool of the user's own: reads what the library and the NIC count, by name. */
#include "check.h"

static int find(const char *wanted, int class) {
    int index = -1;
    OK(MPI_T_pvar_get_index(wanted, class, &index));
    return index;
}

static unsigned long long value_of(MPI_T_pvar_session session, int index) {
    MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    int count = 0;
    OK(MPI_T_pvar_handle_alloc(session, index, 0, &handle, &count));
    CHECK(count == 1);
    OK(MPI_T_pvar_read(session, handle, &value));
    CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_reset(session, handle) == MPI_T_ERR_PVAR_NO_WRITE);
    OK(MPI_T_pvar_handle_free(session, &handle));
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_T_ERR_INVALID_HANDLE);
    return value;
}

static void controls(void) {
    MPI_T_cvar_handle handle;
    MPI_Datatype type;
    char name[64], text[256], cut[4];
    unsigned long long price = 0;
    int number, index, length = sizeof name, room = sizeof text, verbosity, bind, scope, count, short_room = sizeof cut;
    OK(MPI_T_cvar_get_num(&number));
    CHECK(number > 5);
    OK(MPI_T_cvar_get_index("host_call", &index));
    OK(MPI_T_cvar_get_info(index, name, &length, &verbosity, &type, 0, text, &room, &bind, &scope));
    CHECK(!strcmp(name, "host_call") && length == 10 && type == MPI_UINT64_T && scope == MPI_T_SCOPE_CONSTANT);
    CHECK(bind == MPI_T_BIND_NO_OBJECT && strstr(text, "picoseconds"));
    OK(MPI_T_cvar_get_info(index, cut, &short_room, 0, 0, 0, 0, 0, 0, 0));
    CHECK(!strcmp(cut, "hos") && short_room == 10);
    OK(MPI_T_cvar_handle_alloc(index, 0, &handle, &count));
    OK(MPI_T_cvar_read(handle, &price));
    CHECK(price == 300000);
    CHECK(MPI_T_cvar_write(handle, &price) == MPI_T_ERR_CVAR_SET_NEVER);
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK(MPI_T_cvar_get_index("nothing", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_get_info(number, 0, 0, 0, 0, 0, 0, 0, 0, 0) == MPI_T_ERR_INVALID_INDEX);
}

static void categories(int variables) {
    int number, index, of[2], cvars, pvars, inside;
    OK(MPI_T_category_get_num(&number));
    CHECK(number == 2);
    OK(MPI_T_category_get_index("performance", &index));
    OK(MPI_T_category_get_info(index, 0, 0, 0, 0, &cvars, &pvars, &inside));
    CHECK(cvars == 0 && pvars == variables && inside == 0);
    OK(MPI_T_category_get_pvars(index, 2, of));
    CHECK(of[0] == 0 && of[1] == 1);
}

/* There are no events, sources of events and enumerations: whatever names one is told that. */
static void events(void) {
    int number = -1, index;
    char name[8];
    MPI_Count time;
    MPI_T_event_registration handle;
    OK(MPI_T_event_get_num(&number));
    CHECK(number == 0);
    CHECK(MPI_T_event_get_index("any", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_event_get_info(0, name, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_handle_alloc(0, 0, MPI_INFO_NULL, &handle) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_read(0, 0, name) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_source_get_info(0, name, 0, 0, 0, 0, 0, 0, 0) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_source_get_timestamp(0, &time) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_enum_get_info(0, &number, name, 0) == MPI_T_ERR_INVALID_HANDLE);
}

#ifdef MPICH
/* Programs ask these before they choose a way; an error code would be read as a yes. */
static void extensions(void) {
    int yes = 1, value, found;
    MPI_Request request;
    CHECK(!MPIX_Query_cuda_support() && !MPIX_Query_hip_support() && !MPIX_Query_ze_support());
    OK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &yes));
    CHECK(!yes);
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    CHECK(!MPIX_Request_is_complete(request));
    MPI_Send(&yes, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    while (!MPIX_Request_is_complete(request)) /* asking moves nothing on; a probe does */
        OK(MPI_Iprobe(0, 2, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(MPIX_Request_is_complete(MPI_REQUEST_NULL));
}
#endif

int main(int argc, char **argv) {
    MPI_T_pvar_session session;
    unsigned long long before, after;
    int provided, number, rank, on_nic = argc > 1, sent;
    CHECK(MPI_T_pvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_T_pvar_get_num(&number));
    CHECK(number == 0);
    OK(MPI_Init(&argc, &argv));
    OK(MPI_T_pvar_get_num(&number));
    CHECK(on_nic ? number > 20 : number == 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    OK(MPI_T_pvar_session_create(&session));
    before = value_of(session, find("host_time", MPI_T_PVAR_CLASS_TIMER));
    MPI_Barrier(MPI_COMM_WORLD);
    after = value_of(session, find("host_time", MPI_T_PVAR_CLASS_TIMER));
    CHECK(after > before);
    if (on_nic) {
        sent = find("nic_tx_packets", MPI_T_PVAR_CLASS_COUNTER);
        before = value_of(session, sent);
        MPI_Barrier(MPI_COMM_WORLD);
        after = value_of(session, sent);
        CHECK(before > 0 && after > before);
        CHECK(value_of(session, find("nic_slots_cpu_waited", MPI_T_PVAR_CLASS_COUNTER)) > 0);
    }
    CHECK(MPI_T_pvar_get_index("host_time", MPI_T_PVAR_CLASS_COUNTER, &number) == MPI_T_ERR_INVALID_NAME);
    controls();
    OK(MPI_T_pvar_get_num(&number));
    categories(number);
    events();
#ifdef MPICH
    extensions();
#endif
    OK(MPI_T_pvar_session_free(&session));
    CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
    OK(MPI_T_finalize());
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    return finish();
}
