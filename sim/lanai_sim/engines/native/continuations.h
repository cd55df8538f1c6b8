// What processors of the host do after their writes.
#pragma once

#include "declared.h"
#include "memory.h"
#include "slot_time.h"
#include "words.h"

// A continuation comes up to its processor's time, polls, and waits for words, as `RankAccess` does it in Python. It
// ends with one event, or is given back as it stands when Python asks for it.
//
// Something done at a processor's time is done just before the slot that begins then, and only if the run goes beyond
// that slot: so what the scheduler has for the same time is left to take turns there.
class Continuations {
  public:
    Continuations(uint64_t slot_khz, uint32_t nic, HostMemory& memory) : time_{slot_khz}, nic_(nic), memory_(memory) {}

    // The slot before which something is to be done; ~0 if there is none.
    uint64_t due() const { return due_; }

    // Its processor's writes were performed before this slot.
    void begin_after(Continuation& continuation, uint32_t tag, uint64_t slot) {
        begin(continuation, tag, time_.picoseconds(slot));
    }

    // It begins at this time, in picoseconds: there are no writes, or they are done.
    void begin(Continuation& continuation, uint32_t tag, uint64_t time) {
        all_.push_back({&continuation, tag, NONE});
        One& one = all_.back();
        continuation.written = continuation.now = time;
        continuation.clock = continuation.written + continuation.elapsed + continuation.catch_up;
        if (continuation.catch_up) {
            continuation.stage = CATCHES_UP;
            one.due = time_.slot(continuation.clock);
        } else {
            wait(one);
        }
        update();
    }

    // Do what is due before this slot. What is due at a later time than that of an end is left: the process that goes
    // on then comes first.
    void look(uint64_t slot, List<Event>& events) {
        uint64_t ended = NONE;
        while (due_ <= slot) {
            One* first = nullptr;
            for (One& one : all_)
                if (one.due <= slot && (!first || sooner(one, *first))) first = &one;
            Continuation& continuation = *first->continuation;
            if (ended < continuation.clock) return;
            continuation.now = continuation.clock;
            first->due = NONE;
            const Poll& polls = *continuation.polls;
            bool goes_on = continuation.stage == CATCHES_UP
                               ? poll(*first, poll_first(continuation.polls))
                               : wait(*first, wait_looks(polls.words, polls.count), continuation.clock);
            if (!goes_on) {
                ended = continuation.clock;
                end(*first, slot, events);
            }
            update();
        }
    }

    // A word of this tag was changed before this slot. False if the tag is of no continuation.
    bool told(uint32_t tag, uint64_t slot, List<Event>& events) {
        auto one = all_.find([tag](const One& o) { return o.tag == tag; });
        if (one == all_.end()) return false;
        Continuation& continuation = *one->continuation;
        continuation.now = time_.picoseconds(slot);
        memory_.unwatch(tag);
        const Poll& polls = *continuation.polls;
        uint32_t stage = wait_told(polls.words, polls.count, int64_t(slot), int64_t(time_.slot(continuation.clock)));
        if (!wait(*one, stage, continuation.now)) end(*one, slot, events);
        update();
        return true;
    }

    // Give back all that have begun: Python goes on with them.
    void give_back() {
        for (One& one : all_)
            if (one.continuation->stage == WATCHES) memory_.unwatch(one.tag);
        all_.clear();
        due_ = NONE;
    }

    bool settled() const { return all_.empty(); }

  private:
    static constexpr uint64_t NONE = ~0ull;

    struct One {
        Continuation* continuation;
        uint32_t tag;
        uint64_t due;  // slot before which something is to be done at its clock
    };

    SlotTime time_;
    uint32_t nic_;
    HostMemory& memory_;
    uint64_t due_ = NONE;
    List<One> all_;

    static bool sooner(const One& a, const One& b) {
        const Continuation &s = *a.continuation, &t = *b.continuation;
        return s.clock != t.clock ? s.clock < t.clock : s.number < t.number;
    }

    void update() {
        due_ = NONE;
        for (const One& one : all_) due_ = smaller(due_, one.due);
    }

    // Wait from its clock on.
    void wait(One& one) {
        const Continuation& continuation = *one.continuation;
        wait(one, wait_begins(continuation.polls->words, continuation.polls->count), continuation.clock);
    }

    // Be in this stage of the wait from a time on. False if the process must poll.
    bool wait(One& one, uint32_t stage, uint64_t since) {
        Continuation& continuation = *one.continuation;
        continuation.stage = stage;
        continuation.since = since;
        if (stage == ENDS) return wake(one, since);
        stage == COMES ? void(one.due = time_.slot(continuation.clock)) : watch(one);
        return true;
    }

    void watch(const One& one) {
        const Poll& polls = *one.continuation->polls;
        for (uint32_t i = 0; i < polls.count; i++)
            memory_.watches.push_back({polls.words[i].address, polls.words[i].seen, one.tag});
    }

    // The wait has ended, at this time. False if the process must poll.
    bool wake(One& one, uint64_t time) {
        Continuation& continuation = *one.continuation;
        continuation.waited += time - continuation.clock;
        continuation.clock = time;
        continuation.waits++;
        return poll(one, poll_again(continuation.polls));
    }

    // The time of a poll that does nothing passes, and the process waits. False if it must poll.
    bool poll(One& one, int64_t took) {
        if (took == POLLS_ITSELF) return false;
        one.continuation->clock += uint64_t(took);
        wait(one);
        return true;
    }

    void end(One& one, uint64_t slot, List<Event>& events) {
        one.continuation->stage = ENDS;
        events.push_back({slot, CONTINUATION, nic_, one.tag, 0});
        all_.erase(&one);
    }
};
