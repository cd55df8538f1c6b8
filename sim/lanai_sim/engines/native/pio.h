// What the host does to one NIC by PIO: single accesses, and programs of its processors.
#pragma once
#include <stdint.h>

#include "declared.h"
#include "slot_time.h"
#include "words.h"

// Programs: bursts of one processor, each begun so long after the one before was done. The next burst of each waits
// here for its time.
class Processors {
  public:
    explicit Processors(uint64_t slot_khz) : time_{slot_khz} {}

    // The first burst of `count` may begin its `elapsed` after `begin`, in picoseconds. `data` holds the bytes of all.
    // `continuation` is what its processor does then, if that is known.
    void add(uint64_t begin, const Burst* bursts, uint32_t count, const uint8_t* data, uint32_t tag,
             Continuation* continuation) {
        Program program;
        program.bursts.append(bursts, count);
        size_t bytes = 0;
        for (const Burst& burst : program.bursts) bytes += burst.size;
        program.data.append(data, bytes);
        program.tag = tag;
        program.continuation = continuation;
        program.id = ++last_id_ ? last_id_ : ++last_id_;
        programs_.push_back(program);
        wait(programs_.back(), begin);
    }

    // The slot at which a burst may begin; ~0 if none waits.
    uint64_t due() const { return due_; }

    // Queue the words of all bursts that may begin by this slot, in the order of their times.
    void admit(uint64_t slot, Queue<Pio>& queue) {
        while (due_ <= slot) {
            Program* first = nullptr;
            for (Program& program : programs_)
                if (program.due <= slot && (!first || program.sooner(*first))) first = &program;
            split(*first, queue);
            first->due = NONE;
            update();
        }
    }

    // The last word of the program's burst was performed before this slot. The program's tag if that was its last, else
    // 0. `continuation`: its own, if it has one.
    uint32_t done(uint32_t id, uint64_t slot, Continuation** continuation) {
        auto program = programs_.find([id](const Program& p) { return p.id == id; });
        if (++program->next < program->bursts.size()) {
            wait(*program, time_.picoseconds(slot));
            return 0;
        }
        uint32_t tag = program->tag;
        *continuation = program->continuation;
        programs_.erase(program);
        return tag;
    }

    // Of those under way, only the end is told of.
    void forget_continuations() {
        for (Program& program : programs_) program.continuation = nullptr;
    }

    bool settled() const { return programs_.empty(); }

  private:
    static constexpr uint64_t NONE = ~0ull;

    struct Program {
        uint32_t id = 0, tag = 0;
        Continuation* continuation = nullptr;
        size_t next = 0, used = 0;    // burst, byte of data
        uint64_t at = 0, order = 0;  // picoseconds; among those of the same time
        uint64_t due = NONE;         // a slot; NONE while its words are queued
        List<Burst> bursts;
        List<uint8_t> data;

        bool sooner(const Program& other) const { return at != other.at ? at < other.at : order < other.order; }
    };

    SlotTime time_;
    uint64_t due_ = NONE, order_ = 0;
    uint32_t last_id_ = 0;
    List<Program> programs_;  // one a rank on this NIC, at most

    // The next burst may begin its `elapsed` after `time`.
    void wait(Program& program, uint64_t time) {
        program.at = time + program.bursts[program.next].elapsed;
        program.order = order_++;
        program.due = time_.slot(program.at);
        update();
    }

    void update() {
        due_ = NONE;
        for (const Program& program : programs_) due_ = smaller(due_, program.due);
    }

    static void split(Program& program, Queue<Pio>& queue) {
        const Burst& burst = program.bursts[program.next];
        if (!burst.size) {
            queue.push_back({0, 0, burst.offset, 0, 15, 0, program.id});
            return;
        }
        uint32_t end = burst.offset + burst.size;
        for (uint32_t address = burst.offset & ~3u; address < end; address += 4) {
            uint32_t data = 0, be = 0;
            for (uint32_t at = address; at < address + 4; at++) {
                bool ours = at >= burst.offset && at < end;
                be = be << 1 | ours;
                data = data << 8 | (ours ? program.data[program.used++] : 0);
            }
            queue.push_back({0, 1, address, data, be, 0, address + 4 >= end ? program.id : 0});
        }
    }
};
