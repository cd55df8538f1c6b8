/* Requests of ranks that C code understands: see native_loop.py. */
#include <string.h>

/* Records of `simulator/requests.py`, of which Python declares the sizes. */
#pragma pack(push, 1)
typedef struct {
    int64_t picoseconds;
    int32_t place;
    uint32_t value;
    int64_t noting;
    uint32_t first, decisive;
} Look;

typedef struct {
    uint32_t words;
    int64_t timeout;
} WaitAny;
#pragma pack(pop)

_Static_assert(sizeof(Look) == LOOK_BYTES, "Look");
_Static_assert(sizeof(WaitAny) == WAIT_ANY_BYTES, "WaitAny");

/* One rank. Its request stays here until it is answered. */
typedef struct {
    int sock;
    uint32_t number, nic; /* `nic`: that of its node */
    Spin *spin;
    const Reach *reach;
    const Buffer *buffers;
    uint32_t buffer_count;
    int64_t clock, pio, waited; /* as those of `Rank` */
    uint32_t expired;           /* the rank's last wait was ended by its timeout */
    uint32_t tag;               /* of its continuation, while the engine has that; else 0 */
    uint32_t changed;           /* Python has not heard of its last change */
    uint32_t op;                /* of the request that it waits for */
    long got;                   /* bytes that came from it; 0: it has gone; or a negative errno */
    uint32_t count;             /* bursts that it writes */
    int64_t unwritten;          /* its clock if its writes had taken no time */
    int64_t timeout;
    Poll poll;
    Continuation continuation;
    uint32_t room;              /* bytes of a request */
    char *came, *data;          /* the request; the data of its writes */
    Word *words;                /* room for as many as a request can have */
    Burst *bursts;              /* likewise */
} LoopRank;

/* A word that has changed: a process that comes up to its time polls by itself then. */
static const unsigned char SOMETHING[4];
static Word CHANGED = {SOMETHING, 0, 1};

/* Prepare the polls of a request. Return the bytes of its `Look`, or -1 if Python must see to it. */
static int prepare_polls(LoopRank *r, const Frame *frame, const char *from, uint32_t *first) {
    Poll *poll = &r->poll;
    *poll = (Poll){.words = r->words, .place = -1};
    *first = 0;
    if (frame->op == WAIT_ANY) return 0;
    if (frame->op != LOOK_AND_WAIT || frame->size < LOOK_BYTES) return -1;
    Look look;
    memcpy(&look, from, sizeof look);
    *first = look.first;
    poll->place = look.place;
    poll->value = look.value;
    poll->decisive = look.decisive;
    poll->time = (uint64_t)look.picoseconds;
    poll->noting = (uint64_t)look.noting;
    return look.picoseconds < 0 || look.noting < 0 ? -1 : (int)sizeof look;
}

/* Prepare what a rank does after its writes. False if the request is not complete, or Python must see to it: it may be
   refused. */
static int prepare_wait(LoopRank *r, const Frame *frame, const char *from) {
    uint32_t first = 1;
    Poll *poll = &r->poll;
    r->timeout = 0;
    if (frame->op == CATCH_UP) {
        if (frame->size) return 0;
        *poll = (Poll){.words = &CHANGED, .count = 1, .place = -1};
    } else {
        int look = prepare_polls(r, frame, from, &first);
        WaitAny wait;
        if (look < 0 || frame->size - (uint32_t)look < sizeof wait) return 0;
        uint32_t left = frame->size - (uint32_t)look - (uint32_t)sizeof wait;
        from += look;
        memcpy(&wait, from, sizeof wait);
        r->timeout = wait.timeout;
        if (!wait.words || left / WATCHED_WORD_BYTES < wait.words || poll->decisive >= wait.words) return 0;
        if (wait.timeout < 0 || (!wait.timeout && r->expired)) return 0;
        if (words_find(from + sizeof wait, wait.words, r->buffers, r->buffer_count, r->words) != wait.words) return 0;
        poll->count = wait.words - poll->decisive;
        if (poll->place < -1 || poll->place >= (int32_t)poll->count) return 0;
        if (poll->place >= 0 && (poll->count < 2 || poll->decisive)) return 0;
    }
    r->continuation = (Continuation){poll, (uint64_t)frame->elapsed, first ? CATCH_UP_TIME : 0, .number = r->number};
    return 1;
}

/* Prepare what a rank asks for. False if that is not writes, perhaps none, and then one wait. */
static int prepare(LoopRank *r) {
    int64_t elapsed;
    Frame frame;
    size_t size = (size_t)r->got, writes = writes_length(r->came, size, &elapsed);
    if (size - writes < sizeof frame) return 0;
    memcpy(&frame, r->came + writes, sizeof frame);
    if (frame.flags || frame.elapsed < 0 || frame.size != size - writes - sizeof frame) return 0;
    if (!prepare_wait(r, &frame, r->came + writes + sizeof frame)) return 0;
    r->op = frame.op;
    r->unwritten = r->clock + elapsed;
    r->count = writes ? writes_pack(r->came, writes, r->reach, r->bursts, r->data) : 0;
    return r->count || !writes;
}
