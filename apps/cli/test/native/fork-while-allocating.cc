// Forks while other threads allocate; each child allocates, too. Exits with the number of children that did not get to their end.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

// By a volatile, lest the compiler see that nothing is done with it.
void Allocate(size_t bytes) {
  void* volatile pointer = malloc(bytes);
  free(pointer);
}

int main() {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([&] {
      while (!is_over) Allocate(2 << 20);
    });
  int stuck = 0;
  for (int i = 0; i < 300; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);  // a child that waits for a lock waits for ever
      for (int j = 0; j < 4; j++) Allocate(4 << 20);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0 && ++stuck == 3) break;
  }
  is_over = true;
  for (auto& thread : threads) thread.join();
  return stuck;
}
