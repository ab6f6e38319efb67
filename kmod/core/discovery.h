/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What a hello datagram is and what follows from it (PROTOCOL.md section 4).  The
 * bytes come from anybody; sockets, rates and the cache are not here.
 */
#ifndef KRCORE_CORE_DISCOVERY_H
#define KRCORE_CORE_DISCOVERY_H

#include "wire.h"

enum { KR_HELLO_SENDS = 6 };		/* copies of a question */

/* When copy @i of a question goes out, in ns from its beginning on. */
u64 kr_discovery_send_ns(u32 i);

/* What a datagram that came to the hello port is. */
enum kr_heard {
	KR_HEARD_NOTHING,		/* is not answered */
	KR_HEARD_ASK,			/* a question of ours */
	KR_HEARD_OTHER_VERSION,		/* is told our version, nothing else */
};

/* What an answer says about its sender. */
enum kr_judgement {
	KR_JUDGE_USABLE,		/* has ends that can be tried */
	KR_JUDGE_SELF,			/* is this host */
	KR_JUDGE_NAT,			/* saw other addresses: says nothing about hosts */
	KR_JUDGE_NO_DEVICE,
};

/* A datagram of @len bytes from port @port, to a socket of @family (4 or 6). */
enum kr_heard kr_discovery_hear(const u8 *bytes, size_t len, u8 family, u16 port,
				struct kr_hello *ask);
/* For another version, which cannot be told more. */
void kr_discovery_tell_version(struct kr_hello *answer, u8 family, const u8 instance[16]);
/* The answer to @ask, which came from @from to @to; cookie, token and ends are the caller's. */
void kr_discovery_answer(struct kr_hello *answer, const struct kr_hello *ask,
			 const u8 instance[16], const u8 from[16], const u8 to[16]);

/*
 * A datagram that came back for @ask: 0 with *answer; -EPROTO: the peer speaks
 * another version; -EAGAIN: no answer to this question.
 */
int kr_discovery_read(const u8 *bytes, size_t len, const struct kr_hello *ask,
		      struct kr_hello *answer);
enum kr_judgement kr_discovery_judge(const struct kr_hello *ask,
				     const struct kr_hello *answer,
				     const u8 instance[16]);

#endif
