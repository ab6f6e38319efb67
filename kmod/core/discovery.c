// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The decisions about hello datagrams; see discovery.h and docs/PROTOCOL.md. */
#include <krcore/uapi.h>
#include "discovery.h"

/* Three within the usual grace time, others for late answers. */
u64 kr_discovery_send_ns(u32 i)
{
	static const u32 after_ms[KR_HELLO_SENDS] = { 0, 10, 30, 100, 300, 1000 };

	return after_ms[i] * KR_MSEC;
}

/* The datagram is of our protocol, but of a version that we do not know. */
static bool is_other_version(const u8 *bytes, size_t len)
{
	const struct kr_hello none = { .family = 4 };
	u8 ours[KR_HELLO_LEN];

	kr_wire_put_hello(ours, &none);
	return len > 4 && !memcmp(bytes, ours, 4) && bytes[4] != ours[4];
}

enum kr_heard kr_discovery_hear(const u8 *bytes, size_t len, u8 family, u16 port,
				struct kr_hello *ask)
{
	/* Two answerers must not talk to each other for ever. */
	if (port == KRCORE_HELLO_PORT)
		return KR_HEARD_NOTHING;
	if (kr_wire_get_hello(bytes, len, ask) && ask->op == KR_HELLO_ASK &&
	    ask->family == family)
		return KR_HEARD_ASK;
	/* The answer must not be longer than what it answers. */
	return len >= KR_HELLO_LEN && is_other_version(bytes, len) ?
		KR_HEARD_OTHER_VERSION : KR_HEARD_NOTHING;
}

void kr_discovery_tell_version(struct kr_hello *answer, u8 family, const u8 instance[16])
{
	memset(answer, 0, sizeof(*answer));
	answer->op = KR_HELLO_ANSWER;
	answer->family = family;
	memcpy(answer->instance, instance, sizeof(answer->instance));
}

void kr_discovery_answer(struct kr_hello *answer, const struct kr_hello *ask,
			 const u8 instance[16], const u8 from[16], const u8 to[16])
{
	kr_discovery_tell_version(answer, ask->family, instance);
	answer->nonce = ask->nonce;
	memcpy(answer->saddr, from, sizeof(answer->saddr));
	memcpy(answer->daddr, to, sizeof(answer->daddr));
}

int kr_discovery_read(const u8 *bytes, size_t len, const struct kr_hello *ask,
		      struct kr_hello *answer)
{
	if (is_other_version(bytes, len))
		return -EPROTO;
	if (!kr_wire_get_hello(bytes, len, answer) || answer->op != KR_HELLO_ANSWER ||
	    answer->nonce != ask->nonce)
		return -EAGAIN;
	return 0;
}

enum kr_judgement kr_discovery_judge(const struct kr_hello *ask,
				     const struct kr_hello *answer,
				     const u8 instance[16])
{
	if (answer->family != ask->family ||
	    memcmp(answer->saddr, ask->saddr, sizeof(ask->saddr)) ||
	    memcmp(answer->daddr, ask->daddr, sizeof(ask->daddr)))
		return KR_JUDGE_NAT;
	if (!memcmp(answer->instance, instance, sizeof(answer->instance)))
		return KR_JUDGE_SELF;
	return answer->nr_ends ? KR_JUDGE_USABLE : KR_JUDGE_NO_DEVICE;
}
