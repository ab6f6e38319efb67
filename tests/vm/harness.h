/* SPDX-License-Identifier: MIT */
/*
 * The frame of socktest: what a case may use.
 *
 * A case is a function that runs on the client host in a process of its own.
 * Its peer is an agent process on the server host, which does over its own
 * sockets what the case asks of it (agent.h) through a control connection
 * that is always kernel TCP.  So both halves of a case read as one straight
 * text.  A check that fails ends the case.
 *
 * The oracle is kernel TCP: every case passes with `-p tcp`.
 */
#ifndef KRCORE_TEST_HARNESS_H
#define KRCORE_TEST_HARNESS_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"

enum {
	PROTO_KRCORE = 254,
	CONTROL_PORT = 7654,
	/* Longest wait for something that must come, not a measurement. */
	PATIENCE_MS = 60000,
};

/* An address with its length. */
struct addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage ss;
	};
	socklen_t len;
};

/* What a case knows of its surroundings. */
struct side {
	int family;		/* AF_INET or AF_INET6 */
	int proto;		/* protocol of our sockets: 0 or 254 */
	int peer_proto;		/* protocol of the agent's sockets */
	int ctl;		/* control connection to the agent */
	bool accepting;		/* pair() makes our end by accept */
	struct addr local;	/* this host, port 0 */
	struct addr remote;	/* the agent's host, port 0 */
	uint64_t bytes;		/* --bytes: size of bulk transfers */
	int conns;		/* --conns: connections of `many` */
	int loops;		/* --loops: rounds of `churn` */
	int streams;		/* --streams: parallel connections of `bulk` */
	uint64_t seed;
};

enum case_flag {
	BOTH_ENDS = 1,		/* run with a connected and an accepted fd */
	EXPLICIT = 2,		/* run only when named */
};

struct test_case {
	const char *name;
	void (*run)(struct side *s);
	unsigned int flags;
};

extern const struct test_case connect_cases[], accept_cases[],
	send_recv_cases[], buffer_cases[], poll_cases[], epoll_cases[],
	shutdown_cases[], close_cases[], options_cases[], ioctl_cases[],
	splice_cases[], signals_cases[], process_cases[], threads_cases[],
	bulk_cases[], many_cases[], self_cases[], silent_cases[];

/* process.c: what `socktest exec-helper FD` does after exec */
int process_exec_helper(int argc, char **argv);

/* check.c: checks and reports */
extern int report_fd;
void case_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void case_skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
long long check_ok(const char *file, int line, const char *text, long long got);
void check_err(const char *file, int line, const char *text, long long got,
	       int want);
void check_eq(const char *file, int line, const char *text, long long got,
	      long long want);
void check_events(const char *file, int line, int fd, short want, int wait_ms);

#define CHECK(cond) do { \
	if (!(cond)) \
		case_fail(__FILE__, __LINE__, "expected %s", #cond); \
} while (0)
/* The call does not fail; its value. */
#define CHECK_OK(call) check_ok(__FILE__, __LINE__, #call, (call))
/* The call returns -1 with this errno. */
#define CHECK_ERR(call, want) check_err(__FILE__, __LINE__, #call, (call), want)
#define CHECK_EQ(got, want) \
	check_eq(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
/* poll() reports exactly these events, now or before patience ends. */
#define EVENTS_ARE(fd, want) check_events(__FILE__, __LINE__, fd, want, 0)
#define EVENTS_BECOME(fd, want) \
	check_events(__FILE__, __LINE__, fd, want, PATIENCE_MS)
/* The agent's reply to an operation. */
#define PEER_EQ(s, want, ...) \
	check_eq(__FILE__, __LINE__, "peer " #__VA_ARGS__, \
		 peer(s, __VA_ARGS__), (long long)(want))
#define PEER_OK(s, ...) \
	check_ok(__FILE__, __LINE__, "peer " #__VA_ARGS__, \
		 peer(s, __VA_ARGS__))

/* sock.c: sockets and addresses */
struct addr addr_any(int family, uint16_t port);
struct addr addr_port(const struct addr *base, uint16_t port);
struct addr addr_local(int fd);
struct addr addr_peer(int fd);
struct addr addr_unmap(const struct addr *addr);
uint16_t addr_get_port(const struct addr *addr);
bool addr_same_host(const struct addr *a, const struct addr *b);
bool addr_is_any(const struct addr *addr);
bool addr_is_loopback(const struct addr *addr);
int sock_new(struct side *s, int flags);
int sock_listen(struct side *s, int backlog);
int sock_bound(struct side *s, uint16_t port);
int sock_connecting(struct side *s);
void sock_set(int fd, int level, int name, int value);
int sock_get(int fd, int level, int name);
void sock_nonblock(int fd, bool on);
int sock_error(int fd);
int pair(struct side *s);
int pair_at(struct side *s, int handle);
void wait_readable(int fd, int bytes);
void sleep_ms(int ms);
int64_t now_ms(void);

/* stream.c: bytes that know their position */
void stream_fill(uint64_t seed, uint64_t pos, void *buf, size_t len);
bool stream_matches(uint64_t seed, uint64_t pos, const void *buf, size_t len);
uint64_t rng_next(uint64_t *state);
size_t rng_size(uint64_t *state, size_t max);
int64_t stream_send(int fd, uint64_t seed, uint64_t pos, uint64_t len);
int64_t stream_recv(int fd, uint64_t seed, uint64_t pos, uint64_t len);
int64_t stream_duplex(int fd, uint64_t seed, uint64_t tx_len, uint64_t rx_len);
void send_ours(int fd, uint64_t pos, size_t len);
/* Until neither this socket nor the peer's, which is not read, has room; new position. */
uint64_t send_until_full(int fd, uint64_t pos);
void recv_theirs(int fd, uint64_t pos, size_t len);
void fill_ours(uint64_t pos, void *buf, size_t len);
void expect_theirs(uint64_t pos, const void *buf, size_t len);

#endif
