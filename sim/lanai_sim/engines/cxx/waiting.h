// When a NIC that waits leaves its model, and when it comes back. nic.h includes this file.
//
// Slots are evaluated in pairs, as what happens in even and in odd slots differs. If all that a slot needs is as it was
// two slots before, three slots in a row, then it stays so, except registers that count: in the second slot nothing
// was written to a memory that was not written in the first, and in the third all that memories show was seen. Until an
// input comes, the timer is due or a counter is near a value that it is compared with, the model is not evaluated. It
// comes back with the counters where they would be, and with one evaluation after an odd number of slots.
#pragma once

#ifdef LANAI_WAITING
#include <algorithm>
#include <vector>

#include "timer.h"

class Waiting {
  public:
    bool may = true;     // leave the model
    uint64_t begun = 0;  // slots begun outside it

    // Begin up to `most` slots without inputs. Returns how many; none if the model has to be evaluated.
    uint32_t begin(uint64_t most) {
        const uint32_t count = uint32_t(std::min<uint64_t>(most, left_));
        left_ -= count;
        ahead_ += count;
        begun += count;
        return count;
    }

    // The last slot that may be begun without the model was.
    bool ran_out() const { return ahead_ && !left_; }

    // The model is in a slot without inputs, which was evaluated, as the one before.
    void look(NicModel& model) {
        if (phase_ == FIRST_EVEN) {
            if (pause_) {
                pause_--;
                return;
            }
            if (!may || waiting_counts(model.rootp)) return;
            seen_[0].resize(waiting_bytes() / sizeof(Bytes));
            seen_[1].resize(seen_[0].size());
        }
        if (!seen_[0].empty()) compare(model);
    }

    // The model is in the present slot, or in the one before: then it has to be evaluated, and this is false.
    bool back(NicModel& model) {
        phase_ = FIRST_EVEN;
        left_ = 0;
        if (!ahead_) return true;
        const bool is_even = ahead_ % 2 == 0;
        waiting_count(model.rootp, even(), ahead_ / 2 * 2);
        ahead_ = 0;
        return is_even;
    }

  private:
    enum { FIRST_EVEN, FIRST_ODD, SECOND_EVEN, SECOND_ODD, THIRD_EVEN };
    static constexpr unsigned MOST_FAILED = 3;  // more do not make the pause longer
    struct alignas(32) Bytes {
        char bytes[32];
    };

    int phase_ = FIRST_EVEN;
    uint32_t left_ = 0;   // slots that may still be begun without the model
    uint32_t ahead_ = 0;  // slots begun since the model's
    unsigned pause_ = 0, failed_ = 0;
    std::vector<Bytes> seen_[2];  // in an even and in an odd slot

    char* even() { return seen_[0][0].bytes; }
    char* odd() { return seen_[1][0].bytes; }

    void compare(NicModel& model) {
        if (goes_on(model)) return;
        if (failed_ < MOST_FAILED) failed_++;
        pause_ = (1u << failed_) - 1;
        phase_ = FIRST_EVEN;
    }

    bool goes_on(NicModel& model) {
        auto* root = model.rootp;
        switch (phase_++) {
            case FIRST_EVEN: waiting_look(root, even()); return true;
            case FIRST_ODD: waiting_look(root, odd()); return waiting_shows(even(), odd());
            case SECOND_EVEN: return waiting_same(root, even()) && waiting_left(root, even(), 2);
            case SECOND_ODD: return waiting_same(root, odd()) && waiting_left(root, odd(), 2);
        }
        if (!waiting_same(root, even())) return false;
        left_ = std::min(waiting_left(root, even(), 4), slots_until_timer(model, waiting_now(root))) / 2 * 2;
        phase_ = FIRST_EVEN;
        failed_ = 0;
        return left_ != 0;
    }
};

#else

class Waiting {
  public:
    bool may = true;
    uint64_t begun = 0;
    uint32_t begin(uint64_t) { return 0; }
    bool ran_out() const { return false; }
    void look(NicModel&) {}
    bool back(NicModel&) { return true; }
};

#endif
