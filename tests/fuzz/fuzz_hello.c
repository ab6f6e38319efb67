// SPDX-License-Identifier: MIT
/*
 * fuzz_hello: any bytes at the hello port, and as an answer to a question.  What is
 * answered may be; the asker of a question takes our answer and believes only the
 * truth; no answer is a question again.
 */
#include <krcore/uapi.h>

#include "core/discovery.h"
#include "fuzz.h"
#include "unit/core_env.h"

static const u8 ours[16] = { 7 };

/* What is decoded is encoded and decoded as the same again. */
static void check_again(const struct kr_hello *h)
{
	u8 first[KR_HELLO_LEN], second[KR_HELLO_LEN];
	struct kr_hello again;

	kr_wire_put_hello(first, h);
	check(kr_wire_get_hello(first, sizeof(first), &again));
	kr_wire_put_hello(second, &again);
	check(!memcmp(first, second, sizeof(first)));
}

/* An answer of ours, at the host that asked and at another answerer. */
static void check_answer(const struct kr_hello *ask, const struct kr_hello *answer)
{
	u8 bytes[KR_HELLO_LEN];
	struct kr_hello got;

	kr_wire_put_hello(bytes, answer);
	check(!kr_discovery_read(bytes, sizeof(bytes), ask, &got));
	check(kr_discovery_judge(ask, &got, ask->instance) != KR_JUDGE_USABLE ||
	      memcmp(ask->instance, ours, 16));
	check(kr_discovery_hear(bytes, sizeof(bytes), ask->family, 40000, &got) ==
	      KR_HEARD_NOTHING);
}

static void ask_us(const u8 *bytes, size_t len, u8 family, u16 port)
{
	struct kr_hello ask, answer, got;

	switch (kr_discovery_hear(bytes, len, family, port, &ask)) {
	case KR_HEARD_NOTHING:
		return;
	case KR_HEARD_ASK:
		check(len == KR_HELLO_LEN && ask.op == KR_HELLO_ASK && ask.family == family);
		check_again(&ask);
		kr_discovery_answer(&answer, &ask, ours, ask.saddr, ask.daddr);
		check(kr_discovery_judge(&ask, &answer, ask.instance) != KR_JUDGE_NAT);
		check_answer(&ask, &answer);
		answer.daddr[0]++;
		check(kr_discovery_judge(&ask, &answer, (const u8[16]){ 8 }) == KR_JUDGE_NAT);
		break;
	case KR_HEARD_OTHER_VERSION:
		check(len >= KR_HELLO_LEN);
		check(kr_discovery_read(bytes, len, &(struct kr_hello){ 0 }, &got) == -EPROTO);
		break;
	}
	check(port != KRCORE_HELLO_PORT);
}

/* As an answer to the question that it names. */
static void answer_us(const u8 *bytes, size_t len)
{
	struct kr_hello ask = { .op = KR_HELLO_ASK, .family = 4 }, answer;
	enum kr_judgement judgement;

	if (len >= 24)
		ask.nonce = get_unaligned_be64(bytes + 16);
	if (kr_discovery_read(bytes, len, &ask, &answer))
		return;
	check(answer.op == KR_HELLO_ANSWER && answer.nr_ends <= KR_HELLO_ENDS);
	check_again(&answer);
	memcpy(ask.saddr, answer.saddr, 16);
	memcpy(ask.daddr, answer.daddr, 16);
	judgement = kr_discovery_judge(&ask, &answer, ours);
	/* Only the family can still show that it was translated. */
	check((judgement == KR_JUDGE_SELF) ==
	      (answer.family == 4 && !memcmp(answer.instance, ours, 16)));
	check(judgement != KR_JUDGE_USABLE || (answer.family == 4 && answer.nr_ends &&
					       answer.ends[0].mtu >= KR_PKT_MIN));
	ask.nonce++;
	check(kr_discovery_read(bytes, len, &ask, &answer) == -EAGAIN);
}

/* The first bytes are the family of the socket and the port that it came from. */
int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = { data, len };
	u8 family = input_byte(&in) & 1 ? 6 : 4;
	u16 port = input_number(&in, 2);

	ask_us(in.p, in.len, family, port);
	answer_us(in.p, in.len);
	return 0;
}
