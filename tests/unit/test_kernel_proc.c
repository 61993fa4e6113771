/* A tree of processes with known members, and what /proc is made to say about it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/proc.h"
#include "kernel/tree.h"

#include "emulated.h"

#define HOG_BYTES ((size_t)24 << 20)

static void tell(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(1);
}

static void wait_for(int fd, int count)
{
	for (char byte; count > 0; count--)
		assert_int_equal(read(fd, &byte, 1), 1);
}

static _Noreturn void sleep_long(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	tell(fd);
	for (;;)
		pause();
}

/* Forks from a thread that is not the first one: the child hangs on that thread's list. */
static void *fork_in_thread(void *data)
{
	int fd = *(int *)data;
	if (fork() == 0)
		sleep_long(fd);
	tell(fd);
	for (;;)
		pause();
	return NULL;
}

static void spin_ms(int ms)
{
	for (clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000); clock() < end;)
		;
}

static _Noreturn void memory_hog(int fd)
{
	char *p = mmap(NULL, HOG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		_exit(1);
	memset(p, 1, HOG_BYTES);
	sleep_long(fd);
}

/* root ── hog, named to deceive; threaded (2 threads) ── child of the second thread; zombie; and 300 ms already waited for */
static _Noreturn void grow_tree(int fd)
{
	pid_t spinner = fork();
	if (spinner == 0) {
		spin_ms(300);
		_exit(0);
	}
	waitpid(spinner, NULL, 0);
	if (fork() == 0) {
		prctl(PR_SET_NAME, ") S 1 1 1 1\n");
		memory_hog(fd);
	}
	if (fork() == 0) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, fork_in_thread, &fd) != 0)
			_exit(1);
		sleep_long(fd);
	}
	pid_t zombie = fork();
	if (zombie == 0)
		_exit(0);
	siginfo_t info;
	waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT);
	sleep_long(fd);
}

static pid_t start_tree(void)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t root = fork();
	assert_true(root >= 0);
	if (root == 0)
		grow_tree(ends[1]);
	close(ends[1]);
	wait_for(ends[0], 5);
	close(ends[0]);
	return root;
}

static void end_tree(pid_t root)
{
	pid_t pids[64];
	size_t count = 0;
	assert_int_equal(proc_tree_pids(root, pids, 64, &count), 0);
	for (size_t i = 0; i < count; i++)
		kill(pids[i], SIGKILL);
	kill(root, SIGKILL);
	assert_int_equal(waitpid(root, NULL, 0), root);
}

static void test_counts(void **state)
{
	(void)state;
	pid_t root = start_tree();
	struct tree tree = { .root = root, .with_io = true };
	struct tree_usage usage, again;
	int proc = proc_open();
	assert_int_equal(tree_look(&tree, proc, &usage), 0);
	assert_int_equal(tree_look(&tree, proc, &again), 0); /* nothing happened, but only this look shows it */
	assert_false(again.quiet);
	assert_int_equal(tree_look(&tree, proc, &again), 0);
	assert_true(again.quiet);
	struct proc_memory divided = tree_shared_memory(&tree, proc);
	end_tree(root);
	close(proc);
	tree_done(&tree);

	assert_int_equal(usage.processes, 3); /* hog, threaded, its child; neither root nor zombie */
	assert_int_equal(usage.threads, 4);
	assert_int_equal(again.processes, 3);
	assert_true(usage.cpu_us >= 290000 && usage.cpu_us < 2000000);
	assert_true(usage.memory.anon >= HOG_BYTES && usage.memory.anon < 4 * HOG_BYTES);
	assert_true(divided.anon >= HOG_BYTES && divided.anon <= usage.memory.anon);
}

static void test_pids(void **state)
{
	(void)state;
	pid_t root = start_tree();
	pid_t pids[64];
	size_t count = 0, few = 0;
	assert_int_equal(proc_tree_pids(root, pids, 64, &count), 0);
	assert_int_equal(count, 4); /* hog, threaded, its child, the zombie */
	for (size_t i = 0; i < count; i++)
		assert_true(pids[i] != root && pids[i] != getpid());
	assert_int_equal(proc_tree_pids(root, pids, 2, &few), 0);
	assert_int_equal(few, 2);
	end_tree(root);
}

/* Two generations down, the middle one gone, a session of its own: it still hangs on the subreaper. */
static void test_orphan_of_subreaper(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t root = fork();
	assert_true(root >= 0);
	if (root == 0) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		pid_t middle = fork();
		if (middle == 0) {
			if (fork() == 0) {
				setsid();
				alarm(60);
				tell(ends[1]);
				for (;;)
					pause();
			}
			_exit(0);
		}
		waitpid(middle, NULL, 0);
		sleep_long(ends[1]);
	}
	wait_for(ends[0], 2);
	pid_t pids[8];
	size_t count = 99;
	assert_int_equal(proc_tree_pids(root, pids, 8, &count), 0);
	assert_int_equal(count, 1);
	end_tree(root);
	close(ends[0]);
	close(ends[1]);
}

static void test_gone(void **state)
{
	(void)state;
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	struct tree tree = { .root = pid };
	struct tree_usage usage = { .processes = 77 };
	size_t count = 77;
	int proc = proc_open();
	assert_int_equal(tree_look(&tree, proc, &usage), -ESRCH);
	close(proc);
	assert_int_equal(usage.processes, 77);
	assert_int_equal(proc_tree_pids(pid, NULL, 0, &count), -ESRCH);
	assert_int_equal(count, 77);
}

/* Many short-lived members while we look: no error, no number out of range. */
static void test_races(void **state)
{
	(void)state;
	pid_t root = fork();
	assert_true(root >= 0);
	if (root == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(20);
		for (;;) {
			pid_t child = fork();
			if (child == 0)
				_exit(fork() == 0 ? 0 : 1);
			waitpid(child, NULL, 0);
		}
	}
	struct tree tree = { .root = root };
	int proc = proc_open();
	for (int i = 0; i < 300; i++) {
		struct tree_usage usage;
		assert_int_equal(tree_look(&tree, proc, &usage), 0);
		assert_true(usage.processes <= 2);
	}
	close(proc);
	tree_done(&tree);
	kill(root, SIGKILL);
	waitpid(root, NULL, 0);
}

/* Children that end without anyone waiting for them: what was seen of them stays, and is not counted twice for those who are
 * waited for. */
static uint64_t time_of_children(bool ignored)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	pid_t root = fork();
	if (root == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(20);
		if (ignored)
			signal(SIGCHLD, SIG_IGN);
		for (int i = 0; i < 5; i++) {
			pid_t child = fork();
			if (child == 0) {
				spin_ms(100);
				_exit(0);
			}
			waitpid(child, NULL, 0);
		}
		tell(ends[1]); /* on a busy machine a child that only waits for its turn looks like one that has ended */
		pause();
	}
	struct tree tree = { .root = root };
	struct tree_usage usage = { 0 };
	int proc = proc_open();
	char byte;
	bool told = false;
	for (int more = 0; more < 20; more += told) { /* who is gone is counted when its parent was read again */
		told = told || read(ends[0], &byte, 1) == 1;
		assert_int_equal(tree_look(&tree, proc, &usage), 0);
		usleep(2000);
	}
	close(ends[0]);
	close(ends[1]);
	close(proc);
	tree_done(&tree);
	kill(root, SIGKILL);
	waitpid(root, NULL, 0);
	return usage.cpu_us;
}

static void test_time_of_the_gone(void **state)
{
	(void)state;
	uint64_t waited = 0, ignored = 0;
	for (int i = 0; i < 5 && waited < 480000; i++) /* a busy machine keeps us from looking */
		waited = time_of_children(false);
	for (int i = 0; i < 5 && ignored < 400000; i++)
		ignored = time_of_children(true);
	assert_true(waited >= 480000 && waited <= 560000);
	assert_true(ignored >= 400000 && ignored <= 560000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts), cmocka_unit_test(test_pids),  cmocka_unit_test(test_orphan_of_subreaper),
		cmocka_unit_test(test_gone),   cmocka_unit_test(test_races), cmocka_unit_test(test_time_of_the_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
