// What the engine needs of a library: lists, owners, atomic numbers. It is C++ that any C compiler compiles and links
// without a C++ library, which zig would have to compile first. Memory that is not there ends the process.
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

template <class Value>
constexpr const Value& smaller(const Value& a, const Value& b) {
    return b < a ? b : a;
}
template <class Value>
constexpr const Value& larger(const Value& a, const Value& b) {
    return a < b ? b : a;
}

constexpr size_t LINE = 64;  // bytes of a cache line

inline void* allocated(size_t size) {
    void* found = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
    if (!found && size) abort();
    return found;
}

// Classes of which `new` and `delete` make objects. They begin at a cache line.
struct OnHeap {
    static void* operator new(size_t size) { return allocated(size); }
    static void operator delete(void* at) { free(at); }
};

struct Here {
    void* at;
};
inline void* operator new(size_t, Here here) { return here.at; }

// Values in a row. What is appended may not be of the list itself.
template <class Value>
class List {
  public:
    List() = default;
    List(const List& other) { append(other.begin(), other.size()); }
    List(List&& other) { swap(other); }
    ~List() {
        clear();
        free(values_);
    }
    List& operator=(List other) {
        swap(other);
        return *this;
    }
    void swap(List& other) {
        exchange(values_, other.values_);
        exchange(size_, other.size_);
        exchange(room_, other.room_);
    }

    size_t size() const { return size_; }
    bool empty() const { return !size_; }
    Value* data() { return values_; }
    const Value* data() const { return values_; }
    Value* begin() { return values_; }
    const Value* begin() const { return values_; }
    Value* end() { return values_ + size_; }
    const Value* end() const { return values_ + size_; }
    Value& operator[](size_t at) { return values_[at]; }
    const Value& operator[](size_t at) const { return values_[at]; }
    Value& front() { return values_[0]; }
    Value& back() { return values_[size_ - 1]; }

    void push_back(const Value& value) { push_back(Value(value)); }
    void push_back(Value&& value) {
        need(size_ + 1);
        new (Here{values_ + size_++}) Value(static_cast<Value&&>(value));
    }
    void append(const Value* values, size_t count) {
        need(size_ + count);
        for (size_t i = 0; i < count; i++) new (Here{values_ + size_++}) Value(values[i]);
    }
    void resize(size_t size) {
        while (size_ > size) values_[--size_].~Value();
        need(size);
        while (size_ < size) new (Here{values_ + size_++}) Value();
    }
    void clear() { resize(0); }
    void erase(Value* at) { erase(at, 1); }
    void erase(Value* from, size_t count) {
        if (!count) return;
        for (Value* one = from; one + count < end(); one++) one[0] = static_cast<Value&&>(one[count]);
        resize(size_ - count);
    }
    // Take out all values of which `is_out` says so.
    template <class Test>
    void remove(const Test& is_out) {
        size_t kept = 0;
        for (size_t i = 0; i < size_; i++)
            if (!is_out(values_[i])) {
                if (kept != i) values_[kept] = static_cast<Value&&>(values_[i]);
                kept++;
            }
        resize(kept);
    }
    template <class Test>
    Value* find(const Test& is_it) {
        Value* at = begin();
        while (at != end() && !is_it(*at)) at++;
        return at;
    }

  private:
    Value* values_ = nullptr;
    size_t size_ = 0, room_ = 0;

    template <class Any>
    static void exchange(Any& a, Any& b) {
        Any kept = a;
        a = b;
        b = kept;
    }

    void need(size_t size) {
        if (size <= room_) return;
        const size_t room = larger(size, room_ * 2);
        Value* more = static_cast<Value*>(allocated(room * sizeof(Value)));
        for (size_t i = 0; i < size_; i++) {
            new (Here{more + i}) Value(static_cast<Value&&>(values_[i]));
            values_[i].~Value();
        }
        free(values_);
        values_ = more;
        room_ = room;
    }
};

// First in, first out.
template <class Value>
class Queue {
  public:
    bool empty() const { return first_ == values_.size(); }
    size_t size() const { return values_.size() - first_; }
    Value& front() { return values_[first_]; }
    const Value& front() const { return values_[first_]; }
    Value* begin() { return values_.begin() + first_; }
    Value* end() { return values_.end(); }
    void push_back(const Value& value) { values_.push_back(value); }
    void append(const Value* values, size_t count) { values_.append(values, count); }
    void pop_front() {
        first_++;
        if (first_ * 2 < values_.size()) return;
        values_.erase(values_.begin(), first_);
        first_ = 0;
    }
    void clear() {
        values_.clear();
        first_ = 0;
    }

  private:
    List<Value> values_;
    size_t first_ = 0;
};

// The one owner of an object, or of none.
template <class Object>
class Owned {
  public:
    Owned() = default;
    explicit Owned(Object* object) : object_(object) {}
    Owned(Owned&& other) : object_(other.object_) { other.object_ = nullptr; }
    Owned(const Owned&) = delete;
    Owned& operator=(Owned&& other) {
        Object* kept = other.object_;
        other.object_ = nullptr;
        reset(kept);
        return *this;
    }
    ~Owned() { reset(); }
    void reset(Object* object = nullptr) {
        delete object_;
        object_ = object;
    }
    Object* get() const { return object_; }
    Object& operator*() const { return *object_; }
    Object* operator->() const { return object_; }
    explicit operator bool() const { return object_; }

  private:
    Object* object_ = nullptr;
};

// A number that threads share.
template <class Number>
class Shared {
  public:
    Shared(Number number = 0) : number_(number) {}
    Number load(int order = __ATOMIC_SEQ_CST) const { return __atomic_load_n(&number_, order); }
    void store(Number number, int order = __ATOMIC_SEQ_CST) { __atomic_store_n(&number_, number, order); }
    void add(Number number, int order) { __atomic_fetch_add(&number_, number, order); }
    operator Number() const { return load(); }
    Shared& operator=(Number number) {
        store(number);
        return *this;
    }

  private:
    Number number_;
};
