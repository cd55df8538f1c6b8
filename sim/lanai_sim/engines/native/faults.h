// What goes wrong on one direction of a cable: packets by number, or the carrier for a while.
#pragma once
#include <stdint.h>

#include "declared.h"
#include "library.h"

// The output function of splitmix64 (Steele, Lea, Flood 2014).
inline uint64_t dice(uint64_t key) {
    key += 0x9E3779B97F4A7C15;
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9;
    key = (key ^ key >> 27) * 0x94D049BB133111EB;
    return key ^ key >> 31;
}

// Whether a fault hits this packet of its wire.
inline bool hits(const Fault& fault, uint64_t number) {
    return fault.chance ? dice(fault.packet ^ dice(number)) >> 11 < fault.chance : fault.packet == number;
}

// Stands where the sender's flits enter the wire. What it holds back leaves at a flit a slot and handles STOP as a
// sender does.
class Faults : public OnHeap {
  public:
    List<Fault> plan;  // of several that hit a packet the first counts
    List<Fault> downs;
    uint64_t counts[7] = {};

    // Work that must be stepped for: flits held back, or the carrier away.
    bool active(uint64_t slot) const {
        if (!queue_.empty() || !held_.empty()) return true;
        for (auto& down : downs)
            if (slot >= down.packet && slot < down.amount) return true;
        return false;
    }
    uint64_t next(uint64_t slot) const {
        uint64_t first = ~0ull;
        for (auto& down : downs)
            if (down.packet > slot && down.packet < first) first = down.packet;
        return first;
    }

    void pass(uint64_t slot, bool stop, uint8_t& kind, uint32_t& data) {
        for (auto& down : downs)
            if (slot >= down.packet && slot < down.amount) {
                if (slot == down.packet) counts[FAULT_DOWN]++;
                kind = DOWN;
                queue_.clear();
                held_.clear();
                within_ = false;
                return;
            }
        if (kind == HEAD) begin(slot);
        if (kind != IDLE) {
            bool last = kind == TAIL;
            take(kind, data);
            if (last) end(slot);
        } else if (!held_.empty() && !within_ && slot >= held_until_) {
            let_go();
        }
        kind = IDLE;
        if (!queue_.empty() && slot >= release_ && !stop) {
            kind = queue_.front().kind;
            data = queue_.front().data;
            queue_.pop_front();
        }
    }

    const Fault* choose(uint64_t number) const {
        for (auto& fault : plan)
            if (hits(fault, number)) return &fault;
        return nullptr;
    }

  private:
    struct Flit {
        uint8_t kind;
        uint32_t data;
    };
    Queue<Flit> queue_, held_;
    List<Flit> copy_;
    uint64_t seen_ = 0, release_ = 0, held_until_ = 0, words_ = 0, amount_ = 0;
    uint32_t current_ = 0;
    bool within_ = false;  // a packet has begun and not ended

    void begin(uint64_t slot) {
        uint64_t number = seen_++;
        current_ = 0;
        within_ = true;
        words_ = 0;
        copy_.clear();
        const Fault* found = choose(number);
        if (!found) return;
        current_ = found->kind;
        amount_ = found->amount;
        counts[current_]++;
        if (current_ == FAULT_DELAY) release_ = slot + amount_;
    }

    void take(uint8_t kind, uint32_t data) {
        if (current_ == FAULT_DROP) return;
        if (current_ == FAULT_CORRUPT && (kind == DATA || kind == TAIL)) {
            if (words_++ == amount_ / 32 || (kind == TAIL && words_ <= amount_ / 32)) data ^= 1u << (amount_ % 32);
        }
        if (current_ == FAULT_DUPLICATE) copy_.push_back(Flit{kind, data});
        (current_ == FAULT_REORDER ? held_ : queue_).push_back(Flit{kind, data});
    }

    void end(uint64_t slot) {
        for (auto& flit : copy_) queue_.push_back(flit);
        copy_.clear();
        within_ = false;
        if (current_ == FAULT_REORDER)
            held_until_ = slot + amount_;
        else if (!held_.empty())
            let_go();  // behind the packet that overtook it
        current_ = 0;
    }

    void let_go() {
        queue_.append(held_.begin(), held_.size());
        held_.clear();
    }
};
