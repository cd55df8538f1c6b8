/* Words of host memory that a process waits for, and polls of them: see words.py. The native engine is made of this
 * text too, as C++. What Python declares stands before it. */
#include <stdint.h>
#include <string.h>

typedef struct {
    const unsigned char *memory; /* where the word is in this process */
    uint32_t address, seen;      /* on the bus; what the process has seen there */
} Word;

typedef struct {
    const unsigned char *memory;
    uint64_t first, size; /* bus address, bytes */
} Buffer;

typedef void WatchWord(void *engine, uint32_t nic, uint32_t address, uint32_t seen, uint32_t tag);

static inline uint32_t held(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Find `count` words in the buffers. `watched`: the bus address and what was seen. Return `count`, or the number
 * of the first word that is in no buffer. */
static inline uint32_t words_find(const char *watched, uint32_t count, const Buffer *buffers, uint32_t buffer_count,
                                  Word *into) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pair[2];
        memcpy(pair, watched + i * sizeof pair, sizeof pair);
        uint32_t one = 0;
        while (one < buffer_count &&
               !(pair[0] >= buffers[one].first && pair[0] + 4ull <= buffers[one].first + buffers[one].size))
            one++;
        if (one == buffer_count) return i;
        into[i].memory = buffers[one].memory + (pair[0] - buffers[one].first);
        into[i].address = pair[0];
        into[i].seen = pair[1];
    }
    return count;
}

static inline int words_changed(const Word *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (held(words[i].memory) != words[i].seen) return 1;
    return 0;
}

/* Whether a word but this one has changed. */
static inline int words_changed_apart(const Word *words, uint32_t count, uint32_t number) {
    return words_changed(words, number) || words_changed(words + number + 1, count - number - 1);
}

static inline void words_remove(Word *words, uint32_t count, uint32_t number) {
    memmove(words + number, words + number + 1, (count - number - 1) * sizeof *words);
}

/* The process has now seen what the words hold. */
static inline void words_look(Word *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) words[i].seen = held(words[i].memory);
}

/* Have an engine watch the words; `watch` is its function for one. */
static inline void words_watch(const Word *words, uint32_t count, WatchWord *watch, void *engine, uint32_t nic,
                               uint32_t tag) {
    for (uint32_t i = 0; i < count; i++) watch(engine, nic, words[i].address, words[i].seen, tag);
}

static inline uint32_t words_held(const Word *words, uint32_t number) { return held(words[number].memory); }

/* A wait begins, looks, or is told of a change: the `Stage` of words.py that follows. */
static inline uint32_t wait_begins(const Word *words, uint32_t count) {
    return words_changed(words, count) ? COMES : WATCHES;
}
static inline uint32_t wait_looks(const Word *words, uint32_t count) {
    return words_changed(words, count) ? ENDS : WATCHES;
}
/* A change up to `first_look` is there when the process looks first. Both are times, or both are slots. */
static inline uint32_t wait_told(const Word *words, uint32_t count, int64_t told, int64_t first_look) {
    return told <= first_look ? COMES : wait_looks(words, count);
}

/* The polls of one wait: they take time and do nothing else. */
typedef struct {
    Word *words;              /* those that the process waits for, and behind them the decisive ones */
    uint64_t time, noting;    /* picoseconds of a poll; more of one that notes */
    uint32_t count, decisive; /* how many of each */
    int32_t place;            /* the word that may be noted; -1: none */
    uint32_t value;           /* what it holds then */
    uint32_t noted, polls;    /* 1 once it was noted; polls that did nothing */
} Poll;

#define POLLS_ITSELF (-1) /* the process must do this poll */

static inline int64_t poll_in_vain(Poll *one) {
    one->polls++;
    if (one->decisive) words_look(one->words, one->count);
    return (int64_t)one->time;
}

/* The time of a poll before the wait. */
static inline int64_t poll_first(Poll *one) {
    const Word *words = one->decisive ? one->words + one->count : one->words;
    return words_changed(words, one->decisive ? one->decisive : one->count) ? POLLS_ITSELF : poll_in_vain(one);
}

/* The time of a poll after the wait. The process must poll by itself also when its time was up. */
static inline int64_t poll_again(Poll *one) {
    if (one->decisive) {
        int more = words_changed(one->words + one->count, one->decisive);
        return words_changed(one->words, one->count) && !more ? poll_in_vain(one) : POLLS_ITSELF;
    }
    if (one->noted || one->place < 0) return POLLS_ITSELF;
    uint32_t place = (uint32_t)one->place;
    if (words_held(one->words, place) != one->value || words_changed_apart(one->words, one->count, place))
        return POLLS_ITSELF;
    words_remove(one->words, one->count--, place);
    one->noted = 1;
    return (int64_t)one->noting + poll_in_vain(one);
}

/* What a process does after its writes: it may come up to its time and poll, and then waits and polls. */
typedef struct {
    Poll *polls;
    uint64_t elapsed, catch_up; /* picoseconds before the wait; more until the first poll, 0: there is none */
    uint32_t number;            /* of the process: what is done at the same time is done in this order */
    uint32_t stage;             /* a `Stage` */
    uint64_t written;           /* picoseconds when the writes were done */
    uint64_t now;               /* ... when something happened last */
    uint64_t clock;             /* of the process: the next poll, or the begin of the wait */
    uint64_t since;             /* when it began to wait for the words as they are */
    uint64_t waited;            /* picoseconds of waits that are over */
    uint32_t waits;             /* how many */
} Continuation;
