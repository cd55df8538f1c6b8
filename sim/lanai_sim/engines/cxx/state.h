// The whole state of units and wires as bytes, and back. `pass` is written once for both ways.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <vector>

#include <verilated_save.h>

// Bytes in order, kept in memory.
class StateWriter : public VerilatedSerialize {
  public:
    std::vector<uint8_t> bytes;

    void flush() override {
        bytes.insert(bytes.end(), m_bufp, m_cp);
        m_cp = m_bufp;
    }
};

// The bytes of a StateWriter. Beyond their end it reads zeros, and `exact` is then false.
class StateReader : public VerilatedDeserialize {
  public:
    StateReader(const uint8_t* bytes, size_t size) : at_(bytes), end_(bytes + size) { m_endp = m_bufp; }

    // All was read, and no more.
    bool exact() const { return !overrun_ && at_ == end_ && m_cp == m_endp; }

  protected:
    void fill() override {
        size_t left = m_cp <= m_endp ? size_t(m_endp - m_cp) : 0;
        overrun_ |= m_cp > m_endp;
        std::memmove(m_bufp, m_cp, left);
        size_t more = std::min(bufferSize() - left, size_t(end_ - at_));
        std::memcpy(m_bufp + left, at_, more);
        std::memset(m_bufp + left + more, 0, bufferSize() - left - more);
        at_ += more;
        m_cp = m_bufp;
        m_endp = m_bufp + left + more;
    }

  private:
    const uint8_t *at_, *end_;
    bool overrun_ = false;
};

template <class Value>
void pass(VerilatedSerialize& to, Value& value) {
    static_assert(std::is_trivially_copyable<Value>::value, "a value that is its bytes");
    to.write(&value, sizeof value);
}
template <class Value>
void pass(VerilatedDeserialize& from, Value& value) {
    static_assert(std::is_trivially_copyable<Value>::value, "a value that is its bytes");
    from.read(&value, sizeof value);
}
template <class Direction, class Value>
void pass(Direction& way, std::vector<Value>& values) {  // of a length that both ends know
    for (Value& value : values) pass(way, value);
}
template <class Direction, class Value>
void pass(Direction& way, std::atomic<Value>& shared) {
    Value value = shared.load();
    pass(way, value);
    shared.store(value);
}
template <class Model>
void pass_model(VerilatedSerialize& to, Model& model) { to << model; }
template <class Model>
void pass_model(VerilatedDeserialize& from, Model& model) { from >> model; }
