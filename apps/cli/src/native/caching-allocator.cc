// A caching allocator for large buffers, those of tensors and of JavaScript's arrays, put before the C library's by LD_PRELOAD.
//
// TensorFlow's own allocator and the C library's keep what is freed, in holes that the next tensors do not fit into; told to return it at once,
// the C library makes every page of a new tensor cost a page fault. Here buffers come from one range of addresses, of huge pages where the system
// has them, and free neighbours are joined. A buffer gets the smallest free block all of whose pages are resident, otherwise one that needs the
// fewest more. Free pages stay resident for the next tensor as long as all resident ones are not more than the most that was in use at once, and
// some, nor more than REMAT_ALLOCATOR_KEEPS_WITHIN bytes where the environment says that; beyond that those at the highest addresses go back to the
// system, so that what is in use gathers at the lowest.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace {

// What is smaller is left to the C library: of what is aligned, as tensors are, and of the rest.
constexpr size_t kSmallestTensorBytes = 64 << 10;
constexpr size_t kSmallestBytes = 1 << 20;
// Free pages that may stay resident: an eighth of the most that was in use at once, and a constant. With less, holes alone are more than that,
// and each step purges pages only to have them back.
constexpr size_t kCacheDivisor = 8;
constexpr size_t kCacheBytes = 48 << 20;
constexpr size_t kHugePageBytes = 2 << 20;

template <typename T>
T* MapZeros(size_t count) {
  void* at = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<T*>(at);
}

// Blocks of whole pages. Pages are counted from the beginning of the range.
class Pool {
 public:
  // Reserves as many addresses as the machine has memory, and no memory. Without them every allocation is refused.
  Pool() : page_bytes_(sysconf(_SC_PAGESIZE)), pages_(sysconf(_SC_PHYS_PAGES)), keeps_within_(PagesToKeepWithin()) {
    is_resident_ = MapZeros<uint8_t>(pages_);
    if (is_resident_ == nullptr) return;
    char* const range = MapZeros<char>(pages_ * page_bytes_ + kHugePageBytes);
    if (range == nullptr) return;
    begin_ = range + (kHugePageBytes - reinterpret_cast<uintptr_t>(range) % kHugePageBytes) % kHugePageBytes;
    end_ = begin_ + pages_ * page_bytes_;
    // Fewer page faults, and fewer addresses to translate. Where the system has none, this has no effect.
    madvise(begin_, pages_ * page_bytes_, MADV_HUGEPAGE);
    AddFree(0, pages_);
  }

  bool Contains(const void* pointer) const { return pointer >= begin_ && pointer < end_; }

  // Null where there is no room. `zeroed` are those bytes, from the beginning on, that are to be zero.
  void* Allocate(size_t alignment, size_t bytes, size_t zeroed = 0) {
    if (alignment > page_bytes_ || bytes > pages_ * page_bytes_) return nullptr;
    const size_t need = (bytes + page_bytes_ - 1) / page_bytes_;
    std::unique_lock<std::mutex> lock(mutex_);
    const size_t first = FindFree(need);
    if (first == pages_) return nullptr;
    const size_t found = TakeFree(free_.find(first));
    if (found > need) AddFree(first + need, found - need);
    used_[first] = need;
    in_use_ += need;
    most_in_use_ = std::max(most_in_use_, in_use_);
    char* const pointer = begin_ + first * page_bytes_;
    const bool is_new = MakeResident(first, need);
    lock.unlock();
    if (!is_new) memset(pointer, 0, zeroed);
    return pointer;
  }

  void Free(void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = used_.find(PageOf(pointer));
    if (found == used_.end()) return;
    size_t first = found->first;
    size_t pages = found->second;
    used_.erase(found);
    in_use_ -= pages;
    auto next = free_.lower_bound(first);
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == first) {
        first = before->first;
        pages += TakeFree(before);
      }
    }
    if (next != free_.end() && next->first == first + pages) pages += TakeFree(next);
    AddFree(first, pages);
  }

  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

  size_t UsableBytes(const void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = used_.find(PageOf(pointer));
    return found == used_.end() ? 0 : found->second * page_bytes_;
  }

 private:
  // Free blocks by their first page, and how many pages they have.
  using FreeBlocks = std::map<size_t, size_t>;

  size_t PagesToKeepWithin() const {
    const char* const bytes = getenv("REMAT_ALLOCATOR_KEEPS_WITHIN");
    return bytes == nullptr ? SIZE_MAX : strtoull(bytes, nullptr, 10) / page_bytes_;
  }

  size_t PageOf(const void* pointer) const { return (static_cast<const char*>(pointer) - begin_) / page_bytes_; }

  size_t NotResident(size_t first, size_t pages) const {
    return std::count(is_resident_ + first, is_resident_ + first + pages, 0);
  }

  void AddFree(size_t first, size_t pages) {
    free_.emplace(first, pages);
    by_size_.emplace(pages, first);
  }

  size_t TakeFree(FreeBlocks::iterator at) {
    const size_t pages = at->second;
    by_size_.erase({pages, at->first});
    free_.erase(at);
    return pages;
  }

  // The first page of the free block of at least `need` pages that needs the fewest more resident ones, the smallest of these; `pages_` for none.
  size_t FindFree(size_t need) const {
    size_t first = pages_;
    size_t fewest = need + 1;
    for (auto at = by_size_.lower_bound({need, 0}); at != by_size_.end() && fewest > 0; ++at) {
      const size_t more = NotResident(at->second, need);
      if (more >= fewest) continue;
      fewest = more;
      first = at->second;
    }
    return first;
  }

  // A block is about to be written to: makes room for those of its pages that are not resident. Returns whether none is.
  bool MakeResident(size_t first, size_t pages) {
    const size_t more = NotResident(first, pages);
    if (more == 0) return false;
    const size_t limit = std::min(most_in_use_ + most_in_use_ / kCacheDivisor + kCacheBytes / page_bytes_, keeps_within_);
    if (resident_ + more > limit) Purge(resident_ + more - limit);
    memset(is_resident_ + first, 1, pages);
    resident_ += more;
    touched_ = std::max(touched_, first + pages);
    return more == pages;
  }

  // Gives so many free pages back to the system, if there are as many.
  void Purge(size_t wanted) {
    for (auto block = free_.rbegin(); block != free_.rend() && wanted > 0; ++block) {
      // Nothing from `touched_` on has been resident yet.
      uint8_t* const from = is_resident_ + block->first;
      uint8_t* to = is_resident_ + std::min(block->first + block->second, touched_);
      while (wanted > 0 && from < to) {
        to = std::find(std::reverse_iterator(to), std::reverse_iterator(from), 1).base();
        uint8_t* const least = static_cast<size_t>(to - from) > wanted ? to - wanted : from;
        uint8_t* const start = std::find(std::reverse_iterator(to), std::reverse_iterator(least), 0).base();
        if (start == to) break;
        if (madvise(begin_ + (start - is_resident_) * page_bytes_, (to - start) * page_bytes_, MADV_DONTNEED) != 0) return;
        std::fill(start, to, 0);
        resident_ -= to - start;
        wanted -= to - start;
        to = start;
      }
    }
  }

  const size_t page_bytes_;
  const size_t pages_;
  // What free pages may stay resident for; what is in use may be more.
  const size_t keeps_within_;
  char* begin_ = nullptr;
  char* end_ = nullptr;
  uint8_t* is_resident_ = nullptr;
  std::mutex mutex_;
  FreeBlocks free_;
  // Free blocks by size, with their first page.
  std::set<std::pair<size_t, size_t>> by_size_;
  std::map<size_t, size_t> used_;
  size_t in_use_ = 0;
  size_t most_in_use_ = 0;
  size_t resident_ = 0;
  size_t touched_ = 0;
};

// Never destroyed: buffers are freed until the very end of the process.
Pool& pool() {
  static Pool* const pool = new Pool;
  return *pool;
}

// Of a process that forks, the child has only the thread that forked: a lock that another one held nobody would give back. So the one that forks
// holds it. Not in the pool's constructor, since registering allocates.
__attribute__((constructor)) void HoldWhileForking() {
  pool();
  pthread_atfork([] { pool().Lock(); }, [] { pool().Unlock(); }, [] { pool().Unlock(); });
}

void* AllocateTensor(size_t alignment, size_t bytes) {
  return bytes < kSmallestTensorBytes ? nullptr : pool().Allocate(alignment, bytes);
}

}  // namespace

extern "C" {

// The C library's own functions, by the names that need no looking up, which might itself allocate.
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* pointer);

void* malloc(size_t bytes) {
  void* const pointer = bytes < kSmallestBytes ? nullptr : pool().Allocate(1, bytes);
  return pointer != nullptr ? pointer : __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  size_t all;
  if (__builtin_mul_overflow(count, bytes, &all) || all < kSmallestBytes) return __libc_calloc(count, bytes);
  void* const pointer = pool().Allocate(1, all, all);
  return pointer != nullptr ? pointer : __libc_calloc(count, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  void* const pointer = AllocateTensor(alignment, bytes);
  return pointer != nullptr ? pointer : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** result, size_t alignment, size_t bytes) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const pointer = aligned_alloc(alignment, bytes);
  if (pointer == nullptr) return ENOMEM;
  *result = pointer;
  return 0;
}

void free(void* pointer) {
  if (pool().Contains(pointer)) {
    pool().Free(pointer);
  } else {
    __libc_free(pointer);
  }
}

void* realloc(void* pointer, size_t bytes) {
  if (!pool().Contains(pointer)) return __libc_realloc(pointer, bytes);
  void* const moved = malloc(bytes);
  if (moved == nullptr) return nullptr;
  memcpy(moved, pointer, std::min(bytes, pool().UsableBytes(pointer)));
  pool().Free(pointer);
  return moved;
}

void* reallocarray(void* pointer, size_t count, size_t bytes) {
  size_t all;
  if (!__builtin_mul_overflow(count, bytes, &all)) return realloc(pointer, all);
  errno = ENOMEM;
  return nullptr;
}

size_t malloc_usable_size(void* pointer) {
  if (pool().Contains(pointer)) return pool().UsableBytes(pointer);
  static const auto next = reinterpret_cast<size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return next(pointer);
}
}
