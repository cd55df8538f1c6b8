// What the engine asks of a NIC and of a switch. Their classes depend on the Verilated models. Each is compiled with
// its model's header, the engine with none: so a model's class is compiled once, and not for each neighbour.
#pragma once
#include "engine.h"
#include "memory.h"
#include "trace.h"
#include "words.h"

class Nic : public Unit {
  public:
    virtual void join_tx(Wire* wire) = 0;
    virtual void join_rx(Wire* wire) = 0;
    virtual HostMemory& host_memory() = 0;
    virtual uint32_t sram(uint32_t address) const = 0;  // a word, as it is now
    virtual uint64_t outside() const = 0;  // slots that were begun with the processor outside the model
    virtual void access(const Pio* accesses, uint32_t count) = 0;
    // The bursts of one program; `data` holds the bytes of all, one after the other. `continuation`: what follows, or
    // none.
    virtual void program(uint64_t begin, const Burst* bursts, uint32_t count, const uint8_t* data, uint32_t tag,
                         Continuation* continuation) = 0;
    virtual void give_back() = 0;  // forget all continuations
    // False if the model cannot write waveforms.
    virtual bool open_wave(const char* file, uint64_t from, uint64_t to, uint64_t half_slot_ps) = 0;
    virtual void record() = 0;  // keep the inputs of every slot from now on
    virtual const std::vector<NicInputs>* recorded() const = 0;
    virtual void bare(uint64_t slots) = 0;  // evaluate the model with nothing around it
    virtual Tracer* traced() = 0;           // none of a NIC without probes
};

class Switch : public Unit {
  public:
    virtual void join_tx(uint32_t port, Wire* wire) = 0;
    virtual void join_rx(uint32_t port, Wire* wire) = 0;
    virtual void barrier(uint32_t members, uint32_t parent) = 0;  // its part in a tree of several switches
};

// `numbers`: those that the model takes, in order.
Nic* new_nic(uint32_t number, uint64_t slot_khz, const uint32_t* numbers);
Switch* new_switch(const uint32_t* numbers);
uint64_t replay(const NicInputs* inputs, uint64_t slots, const uint32_t* numbers, bool whole, uint64_t* outside);
