// SPDX-License-Identifier: MIT
/*
 * shim: makes an unmodified program open krcore sockets.
 *
 * A krcore socket is a true kernel socket, so read, poll, epoll, dup, fork,
 * exec and close need no help.  Two calls are interposed, and no others:
 *
 * socket	a program asks for TCP; we ask the kernel for krcore.  If the
 *		module is absent the program gets TCP, and that is remembered:
 *		each request for an unknown protocol makes the kernel look for
 *		a module, which costs milliseconds.
 * getsockopt	SO_PROTOCOL of a krcore socket reads IPPROTO_TCP, which is
 *		what the program asked for.  Programs compare: Python's asyncio
 *		sets TCP_NODELAY only on IPPROTO_TCP, and takes the number from
 *		here for a socket that it inherits.
 *
 * No connect, bind, send or recv: the kernel does all that we could do there.
 * socketpair, accept and friends have nothing to choose.
 *
 * Both go straight to the system call, so there is nothing to look up, no
 * lock, no allocation and no state except the flags below: safe in threads,
 * in children of fork and in signal handlers.  The constructor reads the
 * environment and does no I/O.  errno changes only when a call fails.
 */
#include "line.h"
#include "policy.h"

#include <krcore/uapi.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct kr_policy the_policy;
static struct stat the_stderr;
static atomic_bool is_ready;

/* The kernel has no krcore, for AF_INET and AF_INET6.  Only ever set; races
 * between threads cost one more question to the kernel.
 */
static atomic_bool is_absent[2];

/* The C library's fstat() is a new symbol in glibc 2.33: an older one, which a
 * program may bring along, could not load us.
 */
static int read_stderr(struct stat *st)
{
	return (int)syscall(SYS_fstat, STDERR_FILENO, st);
}

static struct kr_policy policy_read(void)
{
	struct kr_policy policy;

	kr_policy_parse(&policy, secure_getenv("KRCORE"),
			secure_getenv("KRCORE_FALLBACK"),
			secure_getenv("KRCORE_VERBOSE"));
	return policy;
}

__attribute__((constructor)) static void shim_init(void)
{
	int saved = errno;

	the_policy = policy_read();
	if (the_policy.verbose && read_stderr(&the_stderr) < 0)
		the_policy.verbose = false;
	/* Pairs with the load in policy_get(). */
	atomic_store_explicit(&is_ready, true, memory_order_release);
	errno = saved;
}

/* Another library's constructor may open sockets before ours has run. */
static struct kr_policy policy_get(void)
{
	struct kr_policy policy;

	if (atomic_load_explicit(&is_ready, memory_order_acquire))
		return the_policy;
	policy = policy_read();
	policy.verbose = false;
	return policy;
}

/* Returns the fd or -errno, and leaves errno alone. */
static int ask_kernel(int family, int type, int protocol)
{
	int saved = errno;
	int answer = (int)syscall(SYS_socket, family, type, protocol);

	if (answer < 0) {
		answer = -errno;
		errno = saved;
	}
	return answer;
}

/* A daemon may have closed stderr and have a socket or a file in its place:
 * not a byte of ours may go there.
 */
static bool is_stderr_ours(void)
{
	struct stat now;

	return read_stderr(&now) == 0 &&
	       now.st_dev == the_stderr.st_dev &&
	       now.st_ino == the_stderr.st_ino;
}

static void tell(int family, int answer, const char *outcome, int cause)
{
	struct kr_line line = { 0 };
	int saved = errno;

	kr_line_add(&line, "krcore[");
	kr_line_add_number(&line, (unsigned int)getpid());
	kr_line_add(&line, "]: socket ");
	if (answer >= 0)
		kr_line_add_number(&line, (unsigned int)answer);
	else
		kr_line_add(&line, "-");
	kr_line_add(&line, family == AF_INET ? ": AF_INET" : ": AF_INET6");
	kr_line_add(&line, " stream -> ");
	kr_line_add(&line, answer >= 0 ? outcome : "failed: ");
	if (answer < 0)
		cause = -answer;
	if (cause) {
		kr_line_add_errno(&line, cause);
		if (answer >= 0)
			kr_line_add(&line, ")");
	}
	kr_line_add(&line, "\n");
	if (is_stderr_ours())
		(void)!syscall(SYS_write, STDERR_FILENO, line.text, line.len);
	errno = saved;
}

static int open_krcore(const struct kr_policy *policy, int family, int type,
		       int protocol)
{
	atomic_bool *absent = &is_absent[family == AF_INET6];
	enum kr_verdict verdict = KR_VERDICT_ABSENT;
	const char *outcome = "krcore";
	int cause = 0;
	int answer;

	if (policy->fallback == KR_FALLBACK_FAIL ||
	    !atomic_load_explicit(absent, memory_order_relaxed)) {
		answer = ask_kernel(family, type, IPPROTO_KRCORE);
		verdict = kr_policy_judge(policy, answer);
		cause = verdict == KR_VERDICT_TCP ? -answer : 0;
	}
	if (verdict == KR_VERDICT_ABSENT)
		atomic_store_explicit(absent, true, memory_order_relaxed);
	if (verdict != KR_VERDICT_KEEP) {
		answer = ask_kernel(family, type, protocol);
		outcome = cause ? "tcp (krcore socket refused: "
				: "tcp (module not loaded)";
	}
	if (policy->verbose)
		tell(family, answer, outcome, cause);
	return answer;
}

/**
 * socket() - socket(2), with krcore in the place of TCP
 * @family: address family
 * @type: socket type and flags
 * @protocol: protocol
 *
 * Context: any, a signal handler included.
 * Return: the fd, or -1 with errno set.
 */
EXPORT int socket(int family, int type, int protocol)
{
	struct kr_policy policy = policy_get();
	int answer = 0;

	switch (kr_policy_choose(&policy, family, type, protocol)) {
	case KR_CHOICE_OTHER:
		answer = ask_kernel(family, type, protocol);
		break;
	case KR_CHOICE_OFF:
		answer = ask_kernel(family, type, protocol);
		if (policy.verbose)
			tell(family, answer, "tcp (KRCORE=off)", 0);
		break;
	case KR_CHOICE_KRCORE:
		answer = open_krcore(&policy, family, type, protocol);
		break;
	}
	if (answer >= 0)
		return answer;
	errno = -answer;
	return -1;
}

/**
 * getsockopt() - getsockopt(2), where krcore reads as TCP
 * @fd: socket
 * @level: option level
 * @name: option
 * @value: where the value goes
 * @len: room there, and then the length of the value
 *
 * Context: any, a signal handler included.
 * Return: 0, or -1 with errno set.
 */
EXPORT int getsockopt(int fd, int level, int name, void *restrict value,
		      socklen_t *restrict len)
{
	int rc = (int)syscall(SYS_getsockopt, fd, level, name, value, len);
	int *protocol = value;

	if (rc == 0 && level == SOL_SOCKET && name == SO_PROTOCOL &&
	    *len == sizeof(*protocol) && *protocol == IPPROTO_KRCORE)
		*protocol = IPPROTO_TCP;
	return rc;
}
