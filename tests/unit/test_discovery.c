// SPDX-License-Identifier: MIT
/* test_discovery: which hello datagrams are answered, and what an answer means. */
#include <criterion/criterion.h>
#include <krcore/uapi.h>

#include "core/discovery.h"
#include "core_env.h"

static const u8 asker[16] = { 1 }, answerer[16] = { 2 };
static const struct kr_end end = { .gid = { 1 }, .qpn = 17, .qkey = 1, .mtu = 4096 };
static u8 bytes[KR_HELLO_LEN + 1];

static struct kr_hello question(void)
{
	struct kr_hello ask = { .op = KR_HELLO_ASK, .family = 4, .nonce = 99,
				.saddr = { 10, 0, 0, 1 }, .daddr = { 10, 0, 0, 2 } };

	memcpy(ask.instance, asker, 16);
	kr_wire_put_hello(bytes, &ask);
	return ask;
}

/* The answer to it, as it comes back. */
static struct kr_hello answer_to(const struct kr_hello *ask)
{
	struct kr_hello answer;

	kr_discovery_answer(&answer, ask, answerer, ask->saddr, ask->daddr);
	answer.nr_ends = 1;
	answer.ends[0] = end;
	kr_wire_put_hello(bytes, &answer);
	return answer;
}

Test(discovery, hear__takes_questions_of_its_family_alone)
{
	struct kr_hello got;

	question();

	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN, 4, 40000, &got), KR_HEARD_ASK);
	cr_expect_eq(got.nonce, 99);
	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN, 6, 40000, &got), KR_HEARD_NOTHING);
	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN - 1, 4, 40000, &got),
		     KR_HEARD_NOTHING);
	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN + 1, 4, 40000, &got),
		     KR_HEARD_NOTHING);
}

Test(discovery, hear__answers_no_answerer)
{
	struct kr_hello ask = question(), got;

	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN, 4, KRCORE_HELLO_PORT, &got),
		     KR_HEARD_NOTHING);
	answer_to(&ask);
	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN, 4, 40000, &got), KR_HEARD_NOTHING);
}

Test(discovery, hear__knows_another_version_if_it_is_long_enough)
{
	struct kr_hello got;

	question();
	bytes[4]++;

	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN, 4, 40000, &got),
		     KR_HEARD_OTHER_VERSION);
	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN + 1, 4, 40000, &got),
		     KR_HEARD_OTHER_VERSION);
	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN - 1, 4, 40000, &got),
		     KR_HEARD_NOTHING);
	cr_expect_eq(kr_discovery_hear(bytes, KR_HELLO_LEN, 4, KRCORE_HELLO_PORT, &got),
		     KR_HEARD_NOTHING);
}

Test(discovery, tell_version__tells_nothing_else)
{
	struct kr_hello answer;

	kr_discovery_tell_version(&answer, 6, answerer);

	cr_expect_eq(answer.op, KR_HELLO_ANSWER);
	cr_expect_eq(answer.family, 6);
	cr_expect_arr_eq(answer.instance, answerer, 16);
	cr_expect_eq(answer.nonce, 0);
	cr_expect_eq(answer.token, 0);
	cr_expect_eq(answer.nr_ends, 0);
}

Test(discovery, read__takes_the_answer_to_this_question)
{
	struct kr_hello ask = question(), got;

	cr_expect_eq(kr_discovery_read(bytes, KR_HELLO_LEN, &ask, &got), -EAGAIN);
	answer_to(&ask);
	cr_expect_eq(kr_discovery_read(bytes, KR_HELLO_LEN, &ask, &got), 0);
	cr_expect_eq(got.ends[0].qpn, 17);
	ask.nonce++;
	cr_expect_eq(kr_discovery_read(bytes, KR_HELLO_LEN, &ask, &got), -EAGAIN);
	bytes[4]++;
	cr_expect_eq(kr_discovery_read(bytes, 5, &ask, &got), -EPROTO);
	cr_expect_eq(kr_discovery_read(bytes, 4, &ask, &got), -EAGAIN);
}

Test(discovery, judge__believes_only_what_fits)
{
	struct kr_hello ask = question(), answer = answer_to(&ask);

	cr_expect_eq(kr_discovery_judge(&ask, &answer, asker), KR_JUDGE_USABLE);
	cr_expect_eq(kr_discovery_judge(&ask, &answer, answerer), KR_JUDGE_SELF);
	answer.nr_ends = 0;
	cr_expect_eq(kr_discovery_judge(&ask, &answer, asker), KR_JUDGE_NO_DEVICE);
	answer.saddr[3]++;
	cr_expect_eq(kr_discovery_judge(&ask, &answer, asker), KR_JUDGE_NAT);
	cr_expect_eq(kr_discovery_judge(&ask, &answer, answerer), KR_JUDGE_NAT,
		     "also from this host");
	answer = answer_to(&ask);
	answer.daddr[3]++;
	cr_expect_eq(kr_discovery_judge(&ask, &answer, asker), KR_JUDGE_NAT);
	answer = answer_to(&ask);
	answer.family = 6;
	cr_expect_eq(kr_discovery_judge(&ask, &answer, asker), KR_JUDGE_NAT);
}
