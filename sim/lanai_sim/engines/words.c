/* Words of host memory that a process waits for: see words.py. */
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

typedef void Watch(void *engine, uint32_t nic, uint32_t address, uint32_t seen, uint32_t tag);

static uint32_t held(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Find `count` words in the buffers. `watched`: the bus address and what was seen. Return `count`, or the number
 * of the first word that is in no buffer. */
uint32_t words_find(const char *watched, uint32_t count, const Buffer *buffers, uint32_t buffer_count, Word *into) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pair[2];
        memcpy(pair, watched + i * sizeof pair, sizeof pair);
        uint32_t one = 0;
        while (one < buffer_count &&
               !(pair[0] >= buffers[one].first && pair[0] + 4ull <= buffers[one].first + buffers[one].size))
            one++;
        if (one == buffer_count) return i;
        into[i] = (Word){buffers[one].memory + (pair[0] - buffers[one].first), pair[0], pair[1]};
    }
    return count;
}

int words_changed(const Word *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (held(words[i].memory) != words[i].seen) return 1;
    return 0;
}

/* Whether a word but this one has changed. */
int words_changed_apart(const Word *words, uint32_t count, uint32_t number) {
    return words_changed(words, number) || words_changed(words + number + 1, count - number - 1);
}

void words_remove(Word *words, uint32_t count, uint32_t number) {
    memmove(words + number, words + number + 1, (count - number - 1) * sizeof *words);
}

/* The process has now seen what the words hold. */
void words_look(Word *words, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) words[i].seen = held(words[i].memory);
}

/* Have an engine watch the words; `watch` is its function for one. */
void words_watch(const Word *words, uint32_t count, Watch *watch, void *engine, uint32_t nic, uint32_t tag) {
    for (uint32_t i = 0; i < count; i++) watch(engine, nic, words[i].address, words[i].seen, tag);
}

uint32_t words_held(const Word *words, uint32_t number) { return held(words[number].memory); }
