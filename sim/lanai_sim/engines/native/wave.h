// Waveform of one NIC within a window of slots, if its model has outputs for all signals.
#pragma once
#include <stdio.h>

#include "declared.h"
#include "library.h"

class Wave {
  public:
    struct Signals {
        const WaveSignal* first;
        uint32_t count;
    };
    uint64_t from = ~0ull, to = 0;
    bool within(uint64_t slot) const { return slot >= from && slot < to; }
    uint64_t next(uint64_t slot) const { return slot < from ? from : ~0ull; }

    // `header`: a VCD's, up to the first time, with a number of base 94 for each signal. The signals stay where they
    // are.
    bool open(const char* file, Signals signals, const char* header, uint64_t first, uint64_t last,
              uint64_t half_slot_ps) {
        from = first & ~1ull;
        to = last;
        half_ = half_slot_ps;
        signals_ = signals;
        file_ = fopen(file, "w");
        if (file_) fputs(header, file_);
        return file_;
    }

    // The outputs are of this slot.
    void dump(const void* outputs, uint64_t slot) {
        if (!file_ || !within(slot)) return;
        fprintf(file_, "#%llu\n", (unsigned long long)(2 * slot * half_));
        const auto* now = static_cast<const uint8_t*>(outputs);
        size_t at = 0;
        const bool first = seen_.empty();
        for (uint32_t i = 0; i < signals_.count; i++) {
            const WaveSignal& one = signals_.first[i];
            const uint32_t bytes = one.bytes;
            if (first) seen_.append(now + one.at, bytes);
            else if (!memcmp(seen_.data() + at, now + one.at, bytes)) {
                at += bytes;
                continue;
            }
            memcpy(seen_.data() + at, now + one.at, bytes);
            at += bytes;
            tell(now + one.at, one.width, i);
        }
    }
    void close() {
        if (file_) fclose(file_);
        file_ = nullptr;
    }

  private:
    FILE* file_ = nullptr;
    Signals signals_{};
    List<uint8_t> seen_;  // the values of all signals, in order
    uint64_t half_ = 1;

    void tell(const uint8_t* value, uint32_t width, uint32_t number) {
        auto bit = [value](uint32_t i) { return '0' + (value[i / 8] >> i % 8 & 1); };
        if (width > 1) fputc('b', file_);
        for (uint32_t i = width; i--;) fputc(bit(i), file_);
        if (width > 1) fputc(' ', file_);
        do fputc('!' + int(number % 94), file_);
        while (number /= 94);
        fputc('\n', file_);
    }
};
