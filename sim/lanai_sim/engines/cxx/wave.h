// Waveform of one NIC within a window of slots, if the models were built for tracing.
#pragma once
#include <cstdint>
#if VM_TRACE
#include <verilated_vcd_c.h>

#include <memory>
#endif

template <class Model>
class Wave {
  public:
    uint64_t from = ~0ull, to = 0;
    bool within(uint64_t slot) const { return slot >= from && slot < to; }
    uint64_t next(uint64_t slot) const { return slot < from ? from : ~0ull; }
#if VM_TRACE
    bool open(Model& model, const char* file, uint64_t first, uint64_t last, uint64_t half_slot_ps) {
        from = first & ~1ull;
        to = last;
        half_ = half_slot_ps;
        model.contextp()->traceEverOn(true);
        vcd_.reset(new VerilatedVcdC);
        model.trace(vcd_.get(), 99);
        vcd_->open(file);
        return vcd_->isOpen();
    }
    void dump(Model&, uint64_t slot, int edge) {
        if (vcd_ && within(slot)) vcd_->dump((2 * slot + edge) * half_);
    }
    void close() {
        if (vcd_) vcd_->close();
        vcd_.reset();
    }

  private:
    std::unique_ptr<VerilatedVcdC> vcd_;
    uint64_t half_ = 1;
#else
    bool open(Model&, const char*, uint64_t, uint64_t, uint64_t) { return false; }
    void dump(Model&, uint64_t, int) {}
    void close() {}
#endif
};
