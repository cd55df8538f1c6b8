/* PIO writes as they come from a rank: see writes.py, whose header says what the structs of a request are. */
#include <stdint.h>
#include <string.h>

/* The header of a frame, `protocol.HEADER`. A write's offset in the NIC's window follows it. */
typedef struct {
    uint32_t size;
    uint16_t op, flags;
    int64_t elapsed;
} Frame;

typedef struct {
    uint64_t elapsed;
    uint32_t offset, size;
} Burst; /* `declared.BURST` */

typedef struct {
    uint32_t first, end;
} Range;

typedef struct {
    uint32_t ranges, bells;
    Range reach[];
} Reach;

/* How many bytes at the start of `data` are frames of writes. `elapsed`: the sum of their times. */
size_t writes_length(const char *data, size_t size, int64_t *elapsed) {
    size_t at = 0;
    Frame frame;
    *elapsed = 0;
    while (size - at >= sizeof frame) {
        memcpy(&frame, data + at, sizeof frame);
        if (frame.op != PIO_WRITE || frame.flags || frame.size > size - at - sizeof frame) break;
        at += sizeof frame + frame.size;
        *elapsed += frame.elapsed;
    }
    return at;
}

static int may_write(const Reach *reach, uint32_t offset, uint32_t size, const char *data) {
    for (uint32_t i = 0; i < reach->ranges; i++)
        if (reach->reach[i].first <= offset && (uint64_t)offset + size <= reach->reach[i].end) return 1;
    if (offset != DOORBELL || size != 4) return 0;
    const unsigned char *bits = (const unsigned char *)data;
    uint32_t value = (uint32_t)bits[0] << 24 | (uint32_t)bits[1] << 16 | (uint32_t)bits[2] << 8 | bits[3];
    return !(value & ~reach->bells);
}

/* Make bursts of frames of writes, their bytes one after the other in `bytes`. Return how many; 0 if one may not
 * be, or writes nothing. */
uint32_t writes_pack(const char *frames, size_t size, const Reach *reach, Burst *bursts, char *bytes) {
    uint32_t count = 0;
    Frame frame;
    for (size_t at = 0; at < size; at += sizeof frame + frame.size) {
        memcpy(&frame, frames + at, sizeof frame);
        uint32_t offset;
        if (frame.size <= sizeof offset || frame.elapsed < 0) return 0;
        const char *data = frames + at + sizeof frame + sizeof offset;
        uint32_t length = frame.size - (uint32_t)sizeof offset;
        memcpy(&offset, frames + at + sizeof frame, sizeof offset);
        if (offset > WINDOW || length > WINDOW - offset || !may_write(reach, offset, length, data)) return 0;
        memcpy(bytes, data, length);
        bytes += length;
        bursts[count++] = (Burst){(uint64_t)frame.elapsed, offset, length};
    }
    return count;
}
