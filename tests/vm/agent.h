/* SPDX-License-Identifier: MIT */
/*
 * What a case can ask of the agent on the other host.  Handles are small
 * numbers that the case chooses; the agent keeps one socket in each.
 */
#ifndef KRCORE_TEST_AGENT_H
#define KRCORE_TEST_AGENT_H

#include <stdint.h>

struct side;
struct addr;

enum agent_limits {
	AGENT_HANDLES = 4096,
	H_LISTEN = 0,		/* the agent's listener */
	H_CONN = 1,		/* the agent's end of pair() */
};

/* The seeds of the two directions of a connection. */
enum stream_seed {
	SEED_CASE = 0x1001,	/* bytes that the case sends */
	SEED_AGENT = 0x2002,	/* bytes that the agent sends */
};

enum agent_op {
	AGENT_LISTEN = 1,	/* a = backlog, b = receive buffer; port */
	AGENT_ACCEPT,		/* a = new handle; peer's port */
	AGENT_CONNECT,		/* a = port at the case's host; own port */
	AGENT_CONNECT_START,	/* the same without blocking: 0 */
	AGENT_CONNECT_MANY,	/* a = port, b = number; handles from h on */
	AGENT_SEND,		/* a = position, b = length; bytes */
	AGENT_SEND_PIECES,	/* the same in ten pieces with pauses */
	AGENT_RECV,		/* a = position, b = length; bytes */
	AGENT_RECV_RAW,		/* one recv of 1 byte: its result */
	AGENT_SINK,		/* a = position; bytes read until the end */
	AGENT_ECHO,		/* echo until the end, then close; bytes */
	AGENT_DUPLEX,		/* a = bytes to send, b = bytes to receive */
	AGENT_DUPLEX_MANY,	/* the same on b connections from h on */
	AGENT_SERVE,		/* h = listener, a = connections to echo */
	AGENT_SHUTDOWN,		/* a = how */
	AGENT_CLOSE,
	AGENT_RESET,		/* SO_LINGER 0, then close */
	AGENT_SETOPT,		/* a = level << 16 | name, b = int value */
	AGENT_QUEUED,		/* FIONREAD */
	AGENT_WAIT_QUEUED,	/* until FIONREAD is a */
	AGENT_NAME,		/* own port */
	AGENT_PING,
};

/* One request; same machine type on both hosts. */
struct agent_request {
	uint32_t op;
	int32_t handle;
	uint32_t delay_ms;
	uint32_t pad;
	int64_t a;
	int64_t b;
};

/* First words of a control connection. */
struct agent_hello {
	uint32_t magic;
	int32_t family;
	int32_t proto;
	uint32_t timeout_s;
	uint64_t bytes;
	uint64_t seed;
};

enum { AGENT_MAGIC = 0x6b725431 };

/* Case side: do an operation, or start it (after a delay) and wait later.
 * A failure is -1 with errno set as the agent saw it.
 */
long long peer(struct side *s, enum agent_op op, int handle, int64_t a,
	       int64_t b);
void peer_start(struct side *s, int delay_ms, enum agent_op op, int handle,
		int64_t a, int64_t b);
long long peer_wait(struct side *s);
void peer_connect(struct side *s, const char *host, int timeout_s);

/* Server side. */
int agent_serve_forever(void);
int64_t agent_echo_many(int listener, int64_t connections);

#endif
