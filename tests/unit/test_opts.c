// SPDX-License-Identifier: MIT
/* test_opts: socket options as users set and read them. */
#include <criterion/criterion.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "core/opts.h"
#include "core_env.h"

static const struct kr_opt_defaults defaults = {
	.keep_idle_s = 7200, .keep_intvl_s = 75, .keep_cnt = 9, .fin_timeout_s = 60,
};
static struct kr_opts opts;

Test(opts, owner__of_each_kind)
{
	cr_expect_eq(kr_opt_owner(SOL_TCP, TCP_NODELAY), KR_OPT_OURS);
	cr_expect_eq(kr_opt_owner(SOL_TCP, TCP_CONGESTION), KR_OPT_INNER);
	cr_expect_eq(kr_opt_owner(SOL_TCP, TCP_FASTOPEN), KR_OPT_NEEDS_TCP);
	cr_expect_eq(kr_opt_owner(SOL_TCP, TCP_ULP), KR_OPT_FORBIDDEN);
	cr_expect_eq(kr_opt_owner(SOL_IP, IP_TRANSPARENT), KR_OPT_NEEDS_TCP);
	cr_expect_eq(kr_opt_owner(SOL_IP, TCP_NODELAY), KR_OPT_INNER);
	cr_expect_eq(kr_opt_owner(SOL_IPV6, IPV6_ADDRFORM), KR_OPT_FORBIDDEN);
	cr_expect_eq(kr_opt_owner(SOL_IPV6, IPV6_TRANSPARENT), KR_OPT_NEEDS_TCP);
}

Test(opts, set__keeps_the_bounds_of_tcp)
{
	cr_expect_eq(kr_opts_set(&opts, TCP_KEEPIDLE, 0), -EINVAL);
	cr_expect_eq(kr_opts_set(&opts, TCP_KEEPIDLE, 32768), -EINVAL);
	cr_expect_eq(kr_opts_set(&opts, TCP_KEEPCNT, 128), -EINVAL);
	cr_expect_eq(kr_opts_set(&opts, TCP_USER_TIMEOUT, -1), -EINVAL);
	cr_expect_eq(kr_opts_set(&opts, TCP_CONGESTION, 1), -EINVAL);
	cr_expect_eq(opts.keep_idle_s, 0);
	cr_expect_eq(kr_opts_set(&opts, TCP_KEEPIDLE, 32767), 0);
	cr_expect_eq(opts.keep_idle_s, 32767);
}

Test(opts, set__keeps_what_tcp_keeps)
{
	cr_expect_eq(kr_opts_set(&opts, TCP_NODELAY, INT_MIN), 0);
	cr_expect_eq(opts.nodelay, 1);
	cr_expect_eq(kr_opts_set(&opts, TCP_LINGER2, -5), 0);
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_LINGER2), -1);
	cr_expect_eq(kr_opts_set(&opts, TCP_LINGER2, INT_MAX), 0);
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_LINGER2), 120);
}

Test(opts, get__of_an_unset_time_is_what_applies)
{
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_KEEPIDLE), 7200);
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_KEEPINTVL), 75);
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_KEEPCNT), 9);
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_LINGER2), 60);
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_USER_TIMEOUT), 0);
}

Test(opts, quickack__is_on_until_it_is_switched_off)
{
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_QUICKACK), 1);
	cr_expect_eq(kr_opts_set(&opts, TCP_QUICKACK, 0), 0);
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_QUICKACK), 0);
	cr_expect_eq(kr_opts_set(&opts, TCP_QUICKACK, 5), 0);
	cr_expect_eq(kr_opts_get(&opts, &defaults, TCP_QUICKACK), 1);
}

Test(opts, apply__without_keepalive)
{
	struct kr_vqp_opts v;

	opts.user_timeout_ms = INT_MAX;
	opts.keep_idle_s = 5;
	opts.linger2_s = -1;

	kr_opts_apply(&opts, &defaults, &v);

	cr_expect_eq(v.user_timeout_ns, INT_MAX * KR_MSEC);
	cr_expect_eq(v.keep_idle_ns, 0);
	cr_expect_eq(v.orphan_ns, 60 * KR_SEC);
}

Test(opts, apply__with_keepalive)
{
	struct kr_vqp_opts v;

	opts.is_keepalive = true;
	opts.keep_idle_s = 5;
	opts.linger2_s = 3;

	kr_opts_apply(&opts, &defaults, &v);

	cr_expect_eq(v.user_timeout_ns, 0, "not set");
	cr_expect_eq(v.keep_idle_ns, 5 * KR_SEC);
	cr_expect_eq(v.keep_intvl_ns, 75 * KR_SEC);
	cr_expect_eq(v.keep_cnt, 9);
	cr_expect_eq(v.orphan_ns, 3 * KR_SEC);
}

Test(opts, apply__knows_no_time_of_zero)
{
	const struct kr_opt_defaults zeros = { 0 };
	struct kr_vqp_opts v;

	opts.is_keepalive = true;

	kr_opts_apply(&opts, &zeros, &v);

	cr_expect_eq(v.keep_idle_ns, KR_SEC);
	cr_expect_eq(v.keep_intvl_ns, KR_SEC);
}
