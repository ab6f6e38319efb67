// SPDX-License-Identifier: MIT
/*
 * tester: calls socket() in many ways and prints TAP.
 *
 *	tester krcore	expects krcore sockets where TCP is asked for
 *	tester tcp	expects TCP ones
 *	tester ERRNO	expects that error
 *
 * Knows what the kernel really made from the raw system call, which the shim
 * does not interpose.  Starts by making sure that the shim is there at all.
 */
#include <krcore/uapi.h>

#include <errno.h>
#include <link.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_THREADS = 64, ODD_ERRNO = 4321 };

static int wanted;	/* protocol, or -errno */
static int nr_tests;
static int nr_failed;

static void result(bool passed, const char *name)
{
	printf("%s %d - %s\n", passed ? "ok" : "not ok", ++nr_tests, name);
	nr_failed += !passed;
}

/* What the kernel says, past the shim; -errno if there is no socket. */
static int real_protocol(int fd)
{
	socklen_t len = sizeof(int);
	int protocol = -1;

	if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &protocol,
		    &len) < 0)
		return -errno;
	return protocol;
}

/* Opens, looks and closes.  Protocol or -errno. */
static int try_socket(int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);
	int made;

	if (fd < 0)
		return -errno;
	made = real_protocol(fd);
	close(fd);
	return made;
}

static int find_shim(struct dl_phdr_info *info, size_t size, void *arg)
{
	return strstr(info->dlpi_name, "libkrcore-preload.so") != NULL;
}

static void test_table(void)
{
	static const struct {
		int family, type, protocol;
		bool is_tcp;
		int expected;
		const char *name;
	} rows[] = {
		{ AF_INET, SOCK_STREAM, 0, true, 0, "inet stream 0" },
		{ AF_INET, SOCK_STREAM, IPPROTO_TCP, true, 0, "inet stream tcp" },
		{ AF_INET6, SOCK_STREAM, 0, true, 0, "inet6 stream 0" },
		{ AF_INET6, SOCK_STREAM, IPPROTO_TCP, true, 0, "inet6 stream tcp" },
		{ AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, true, 0, "nonblock" },
		{ AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, true, 0, "cloexec" },
		{ AF_INET, SOCK_DGRAM, 0, false, IPPROTO_UDP, "inet dgram" },
		{ AF_INET6, SOCK_DGRAM, 0, false, IPPROTO_UDP, "inet6 dgram" },
		{ AF_UNIX, SOCK_STREAM, 0, false, 0, "unix stream" },
		{ AF_NETLINK, SOCK_RAW, 0, false, 0, "netlink" },
		{ AF_INET, SOCK_STREAM | 0x100, 0, false, -EINVAL, "bad flag" },
		{ AF_INET, SOCK_STREAM, IPPROTO_UDP, false, -EPROTONOSUPPORT,
		  "inet stream udp" },
		{ AF_INET, SOCK_STREAM, -1, false, -EINVAL, "protocol -1" },
		{ 12345, SOCK_STREAM, 0, false, -EAFNOSUPPORT, "bad family" },
	};
	char name[80];
	int made;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		made = try_socket(rows[i].family, rows[i].type, rows[i].protocol);
		snprintf(name, sizeof(name), "table: %s (got %d)", rows[i].name,
			 made);
		result(made == (rows[i].is_tcp ? wanted : rows[i].expected), name);
	}
}

static void test_errno(void)
{
	int fd;

	errno = ODD_ERRNO;
	fd = socket(AF_INET, SOCK_STREAM, 0);
	result(errno == (wanted < 0 ? -wanted : ODD_ERRNO),
	       "errno changes only on failure");
	close(fd);
	errno = ODD_ERRNO;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	result(errno == ODD_ERRNO, "errno is kept for other sockets");
	close(fd);
}

static void test_getsockopt(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(int);
	int value = -1;

	if (fd < 0)
		return;
	errno = ODD_ERRNO;
	result(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &len) == 0 &&
	       value == IPPROTO_TCP && len == sizeof(int) && errno == ODD_ERRNO,
	       "SO_PROTOCOL reads IPPROTO_TCP");
	result(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &len) == 0 &&
	       value == SOCK_STREAM, "SO_TYPE reads SOCK_STREAM");
	result(getsockopt(fd, SOL_SOCKET, SO_TYPE, NULL, NULL) == -1 &&
	       errno == EFAULT, "a bad pointer is EFAULT");
	close(fd);
	result(getsockopt(-1, SOL_SOCKET, SO_PROTOCOL, &value, &len) == -1 &&
	       errno == EBADF, "a bad fd is EBADF");
}

static void test_fork(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(try_socket(AF_INET, SOCK_STREAM, 0) != wanted);
	waitpid(pid, &status, 0);
	result(status == 0, "child of fork");
	pid = vfork();
	if (pid == 0)
		_exit(try_socket(AF_INET6, SOCK_STREAM, 0) != wanted);
	waitpid(pid, &status, 0);
	result(status == 0, "child of vfork");
}

static volatile sig_atomic_t made_in_handler;

static void on_signal(int signal)
{
	made_in_handler = try_socket(AF_INET, SOCK_STREAM, 0);
}

static void test_signal(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	result(made_in_handler == wanted, "signal handler");
}

static void *open_in_thread(void *arg)
{
	pthread_barrier_wait(arg);
	return (void *)(long)try_socket(AF_INET, SOCK_STREAM, 0);
}

/* Runs first, so that the process's first sockets are opened at once. */
static void test_threads(void)
{
	pthread_t threads[NR_THREADS];
	pthread_barrier_t barrier;
	int nr_right = 0;
	void *made;

	pthread_barrier_init(&barrier, NULL, NR_THREADS);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, open_in_thread, &barrier);
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], &made);
		nr_right += (long)made == wanted;
	}
	pthread_barrier_destroy(&barrier);
	result(nr_right == NR_THREADS, "first sockets of 64 threads");
}

static int parse_wanted(const char *text)
{
	if (!strcmp(text, "krcore"))
		return IPPROTO_KRCORE;
	if (!strcmp(text, "tcp"))
		return IPPROTO_TCP;
	for (int error = 1; error < 200; error++) {
		const char *name = strerrorname_np(error);

		if (name && !strcmp(name, text))
			return -error;
	}
	return 0;
}

int main(int argc, char **argv)
{
	wanted = argc == 2 ? parse_wanted(argv[1]) : 0;
	if (!wanted) {
		fputs("usage: tester krcore|tcp|ERRNO\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!dl_iterate_phdr(find_shim, NULL)) {
		puts("Bail out! the shim is not loaded");
		puts("not ok 1 - the shim is loaded");
		return 1;
	}
	result(true, "the shim is loaded");
	test_threads();
	test_table();
	test_errno();
	test_getsockopt();
	test_fork();
	test_signal();
	printf("1..%d\n", nr_tests);
	return nr_failed > 0;
}
