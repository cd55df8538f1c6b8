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

#include "core_pairs.h"
#include "timer.h"

// `Model` is NicGates.
template <class Model>
class CoreRun {
  public:
    bool may = true;     // leave the model
    uint64_t begun = 0;  // slots begun outside it

    // Begin slots without inputs, up to so many, and return how many. Outputs change in the first of them only, and
    // only if it is the only one.
    uint32_t begin(Model& model, uint32_t most) {
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
        model.step_still();
        if (!may) return 1;
        if (model.outputs().core_issues) leave(model);
        else if (is_between(model) && !same(model)) seen_ = NEVER;
        return 1;
    }

    // The model is in the present slot.
    void back(Model& model) {
        seen_ = NEVER;
        if (!outside_) return;
        outside_ = false;
        if (!lags_) return;
        if (stepped_) {
            (has_read_ ? before_ : core_).give(words_);
            give_words(model);
            if (has_read_) model.step_still();
        }
        model.step_still();
    }

  private:
    static constexpr uint64_t NEVER = ~0ull;
    typedef uint64_t Bytes __attribute__((vector_size(32)));

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
    List<Bytes> others_;  // the registers at `seen_`
    uint32_t registers_[CORE_REGISTERS];  // of the NIC: what a read of each returns

    uint32_t pairs(uint32_t most) {
        const uint32_t some = lags_ ? pairs_.run(core_, memory_, smaller(most, slots_)) : 0;
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

    static uint64_t now(const Model& model) {
        uint64_t found;
        memcpy(&found, model.gates.state() + model.gates.table.now, sizeof found);
        return found;
    }

    // The slot after that of `others_`.
    bool is_between(const Model& model) const { return seen_ != NEVER && seen_ + 1 == now(model); }

    // Two slots are compared, as what happens in even and in odd slots differs. `begin` compares the one between them:
    // what moves in each slot, and back in the next, does not stay as it is.
    void leave(Model& model) {
        const GatesTable& table = model.gates.table;
        if (!all_zero(model.gates.state(), table.quiet, table.state_bytes)) return;
        const uint64_t at = now(model);
        if (seen_ + 2 != at || !same(model)) {
            others_.resize(table.state_bytes / sizeof(Bytes));
            memcpy(others_.data(), model.gates.state(), table.state_bytes);
            seen_ = at;
            return;
        }
        seen_ = NEVER;
        slots_ = slots_until_timer(model.outputs(), at);
        take_words(model);
        if (slots_ < 2 || !core_.take(words_, table.cpu_used)) return;
        uint8_t* store = model.gates.store();
        auto bank = [store](uint32_t offset) { return reinterpret_cast<uint32_t*>(store + offset); };
        model.gates.read_registers(registers_);
        memory_ = {model.gates.sram(), bank(table.bank_a), bank(table.bank_b), bank(table.bank_d), registers_,
                   reinterpret_cast<const uint8_t*>(table.readable), table.limit};
        pairs_.forget();
        outside_ = true;
        lags_ = stepped_ = has_read_ = false;
    }

    // Of bytes in whole lines: none has a bit that is set in the mask.
    static bool all_zero(const uint8_t* state, uint64_t mask_at, uint32_t size) {
        const auto* mask = reinterpret_cast<const Bytes*>(mask_at);
        const auto* bytes = reinterpret_cast<const Bytes*>(state);
        Bytes found{};
        for (uint32_t i = 0; i < size / sizeof(Bytes); i++) found |= bytes[i] & mask[i];
        return !any(found);
    }
    // All but the processor's registers are as they were seen.
    bool same(const Model& model) const {
        const GatesTable& table = model.gates.table;
        const auto* mask = reinterpret_cast<const Bytes*>(table.others);
        const auto* bytes = reinterpret_cast<const Bytes*>(model.gates.state());
        Bytes found{};
        for (uint32_t i = 0; i < table.state_bytes / sizeof(Bytes); i++) found |= (bytes[i] ^ others_[i]) & mask[i];
        return !any(found);
    }
    static bool any(const Bytes& bytes) { return bytes[0] | bytes[1] | bytes[2] | bytes[3]; }

    void take_words(const Model& model) {
        memset(words_, 0, sizeof words_);
        for (const CorePiece& piece : pieces(model))
            words_[piece.word] |= (loaded(model.gates.state() + piece.at, piece.bytes) >> piece.low & mask(piece))
                                  << piece.shift;
    }
    void give_words(Model& model) const {
        for (const CorePiece& piece : pieces(model)) {
            uint8_t* at = model.gates.state() + piece.at;
            uint64_t value = loaded(at, piece.bytes) & ~(mask(piece) << piece.low);
            value |= (words_[piece.word] >> piece.shift & mask(piece)) << piece.low;
            memcpy(at, &value, piece.bytes);
        }
    }
    struct Pieces {
        const CorePiece *first, *last;
        const CorePiece* begin() const { return first; }
        const CorePiece* end() const { return last; }
    };
    static Pieces pieces(const Model& model) {
        const auto* first = reinterpret_cast<const CorePiece*>(model.gates.table.pieces);
        return {first, first + model.gates.table.piece_count};
    }
    static uint64_t loaded(const uint8_t* at, uint32_t bytes) {
        uint64_t found = 0;
        memcpy(&found, at, bytes);
        return found;
    }
    static uint64_t mask(const CorePiece& piece) { return (2ull << (piece.width - 1)) - 1; }
};
