// When the processor leaves its model, and when it comes back. nic.h includes this file.
//
// If nothing but the processor changes from slot to slot, all else stays as it is until the processor writes a
// register, reads one that is not known here, or an input comes. Until then the model is not evaluated. It comes back
// in two evaluations: one of the slot before, whose registers it takes from here, and one of the slot itself, in which
// it sees what the first one showed.
//
// A read of a register changes nothing but the register port, which shows the access in the slot after it. To come back
// with that slot, the model does the read once more.
#pragma once

#ifdef LANAI_CORE
#include <algorithm>
#include <vector>

#include "core_pairs.h"
#include "timer.h"

class CoreRun {
  public:
    bool may = true;     // leave the model
    uint64_t begun = 0;  // slots begun outside it

    // Begin slots without inputs, up to so many. Return how many were begun; 0 if the model has to be evaluated for the
    // first, in whatever way. Outputs change in the first of them only, and only if it is the only one.
    uint32_t begin(NicModel& model, uint32_t most) {
        if (outside_) {
            if (const uint32_t some = pairs(most)) return some;
            const bool goes_on = slots_ && (!lags_ || step());
            if (goes_on) {
                slots_--;
                begun++;
                stepped_ = lags_;
                lags_ = true;
                if (core_.inert()) return 1 + pairs(most - 1);
            }
            back(model);
            if (goes_on) return 1;
        }
        if (!core_slot(model.rootp, words_, false)) {
            seen_ = NEVER;
            return 0;
        }
        if (may && core_issues(model.rootp)) leave(model);
        else if (is_between() && !core_same(model.rootp, others_[0].bytes)) seen_ = NEVER;
        return 1;
    }

    // The model is in the present slot.
    void back(NicModel& model) {
        seen_ = NEVER;
        if (!outside_) return;
        outside_ = false;
        if (!lags_) return;
        if (stepped_) {
            core_leave(model.rootp);
            (has_read_ ? before_ : core_).give(words_);
            core_slot(model.rootp, words_, true);
            if (has_read_) ::tick(model);
        }
        ::tick(model);
    }

  private:
    static constexpr uint64_t NEVER = ~0ull;
    struct alignas(32) Bytes {
        char bytes[32];
    };

    bool outside_ = false;
    bool lags_ = false;     // the registers in `core_` are of the slot before
    bool stepped_ = false;  // they are of a later slot than the model's
    bool has_read_ = false;  // a register, in the slot before that of `core_`
    uint32_t slots_ = 0;    // that may still be begun without the model
    uint64_t seen_ = NEVER;  // the slot of `others_`
    uint64_t words_[CORE_WORDS];  // the processor's registers as the model has them
    Core core_, before_;  // before_: of the slot of that read
    CoreMemory memory_{};
    CorePairs pairs_;
    std::vector<Bytes> others_;  // members other than the processor's

    uint32_t pairs(uint32_t most) {
        const uint32_t some = lags_ ? pairs_.run(core_, memory_, std::min(most, slots_)) : 0;
        if (!some) return 0;
        slots_ -= some;
        begun += some;
        stepped_ = true;
        has_read_ = false;
        return some;
    }

    bool step() {
        const bool reads = core_.reads();
        if (reads) before_ = core_;
        pairs_.forget();
        if (!core_.step(memory_, CorePairs::decoded())) return false;
        has_read_ = reads;
        return true;
    }

    // The slot after that of `others_`.
    bool is_between() const { return seen_ != NEVER && seen_ + 1 == words_[CORE_NOW]; }

    // Two slots are compared, as what happens in even and in odd slots differs. `begin` compares the one between them:
    // what moves in each slot, and back in the next, does not stay as it is.
    void leave(NicModel& model) {
        if (!core_bytes()) return;
        const uint64_t now = words_[CORE_NOW];
        if (seen_ + 2 != now || !core_same(model.rootp, others_[0].bytes)) {
            others_.resize(core_bytes() / sizeof(Bytes));
            core_look(model.rootp, others_[0].bytes);
            seen_ = now;
            return;
        }
        seen_ = NEVER;
        slots_ = slots_until_timer(model, now);
        if (slots_ < 2 || !core_.take(words_)) return;
        uint32_t* arrays[4];
        core_arrays(model.rootp, arrays);
        memory_ = {arrays[0], arrays[1], arrays[2], arrays[3], &model};
        pairs_.forget();
        outside_ = true;
        lags_ = stepped_ = has_read_ = false;
    }
};

#else

class CoreRun {
  public:
    bool may = true;
    uint64_t begun = 0;
    uint32_t begin(NicModel&, uint32_t) { return 0; }
    void back(NicModel&) {}
};

#endif
