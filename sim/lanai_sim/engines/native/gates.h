// One model made by LLVM (`lanai_sim.engines.gates`): its registers in one block, memories and run-time numbers in
// another. The table says how it begins and where things are.
#pragma once
#include "declared.h"
#include "library.h"
#include "state.h"
#include "zeros.h"

class Gates {
  public:
    explicit Gates(const GatesTable& table)
        : table(table), blocks_(static_cast<uint8_t*>(allocated(2 * table.state_bytes + table.store_bytes))),
          sram_(static_cast<uint32_t*>(zeros(sram_bytes() + 1))), state_(blocks_), next_(blocks_ + table.state_bytes),
          store_(next_ + table.state_bytes) {
        memcpy(state_, reinterpret_cast<const void*>(table.state), table.state_bytes);
        memcpy(next_, state_, table.state_bytes);
        memcpy(store_, reinterpret_cast<const void*>(table.store), table.store_bytes);
        memcpy(store_, &sram_, sizeof sram_);
    }

    // The outputs as they are, without an edge.
    void show(const void* inputs, void* outputs) const {
        reinterpret_cast<Step*>(table.show)(state_, inputs, outputs, nullptr, store_);
    }
    Gates(const Gates&) = delete;
    ~Gates() {
        free(blocks_);
        munmap(sram_, sram_bytes() + 1);
    }

    // An edge of the clock with these inputs, and the outputs after it.
    void step(const void* inputs, void* outputs) {
        reinterpret_cast<Step*>(table.step)(state_, inputs, outputs, next_, store_);
        uint8_t* before = state_;
        state_ = next_;
        next_ = before;
    }

    // What a processor would read of registers now.
    void read_registers(uint32_t* values) const {
        reinterpret_cast<Step*>(table.reads)(state_, nullptr, values, nullptr, store_);
    }

    uint8_t* state() { return state_; }
    const uint8_t* state() const { return state_; }
    uint8_t* store() { return store_; }
    uint32_t* sram() { return sram_; }
    uint32_t sram(uint32_t address) const { return table.sram_words ? sram_[address / 4 % table.sram_words] : 0; }

    // Most of an SRAM is zeros, and most NICs of a large machine use little of it.
    void trim() { give_back_zeros(sram_, sram_bytes()); }

    template <class Direction>
    void pass_state(Direction& way) {
        way.bytes_of(state_, table.state_bytes);
        way.bytes_of(store_ + sizeof sram_, table.store_bytes - sizeof sram_);
        way.bytes_of(sram_, sram_bytes());
    }

    const GatesTable& table;

  private:
    using Step = void(const void* state, const void* inputs, void* outputs, void* next, void* store);

    uint8_t* blocks_;
    uint32_t* sram_;
    uint8_t *state_, *next_, *store_;

    size_t sram_bytes() const { return table.sram_words * sizeof *sram_; }
};
