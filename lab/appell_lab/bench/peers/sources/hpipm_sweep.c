/* One Riccati sweep of HPIPM: factorisation and solution of an unconstrained linear-quadratic problem.
 *
 * All arrays are of all stages, matrices by columns: A (nx, nx), B (nx, nu), b (nx), Q (nx, nx), S (nu, nx), R (nu, nu),
 * q (nx), r (nu) per stage; Q and q of the last stage are the final cost. The initial state is given (nx = 0 at stage 0
 * by a shifted b would change the problem, so it is bounded to x0 after the sweep, as HPIPM's users do: here stage 0 has
 * no state, and b of stage 0 contains A x0). */
#include <stdlib.h>
#include <hpipm_d_ocp_qp.h>
#include <hpipm_d_ocp_qp_dim.h>
#include <hpipm_d_ocp_qp_ipm.h>
#include <hpipm_d_ocp_qp_kkt.h>
#include <hpipm_d_ocp_qp_sol.h>

static struct d_ocp_qp qp;
static struct d_ocp_qp_dim dim;
static struct d_ocp_qp_sol sol;
static struct d_ocp_qp_ipm_arg arg;
static struct d_ocp_qp_ipm_ws workspace;
static int N, nx, nu;
static double *A, *B, *b, *Q, *S, *R, *q, *r, *x, *u;

/* Copy the arrays into the layout of BLASFEO. */
static void pack(void)
{
    for (int k = 0; k <= N; k++) {
        if (k < N) {
            if (k) d_ocp_qp_set_A(k, A + k * nx * nx, &qp);
            d_ocp_qp_set_B(k, B + k * nx * nu, &qp);
            d_ocp_qp_set_b(k, b + k * nx, &qp);
            if (k) d_ocp_qp_set_S(k, S + k * nu * nx, &qp);
            d_ocp_qp_set_R(k, R + k * nu * nu, &qp);
            d_ocp_qp_set_r(k, r + k * nu, &qp);
        }
        if (k) {
            d_ocp_qp_set_Q(k, Q + k * nx * nx, &qp);
            d_ocp_qp_set_q(k, q + k * nx, &qp);
        }
    }
}

void solution(double *states, double *inputs)
{
    for (int k = 0; k <= N; k++) {
        if (k) d_ocp_qp_sol_get_x(k, &sol, states + k * nx);
        if (k < N) d_ocp_qp_sol_get_u(k, &sol, inputs + k * nu);
    }
}

/* The arrays must exist as long as sweeps run; x and u receive the solutions of `sweep_with_copies`. */
void prepare(int *sizes, double **arrays)
{
    N = sizes[0], nx = sizes[1], nu = sizes[2];
    A = arrays[0], B = arrays[1], b = arrays[2], Q = arrays[3], S = arrays[4], R = arrays[5], q = arrays[6];
    r = arrays[7], x = arrays[8], u = arrays[9];
    d_ocp_qp_dim_create(N, &dim, malloc(d_ocp_qp_dim_memsize(N)));
    for (int k = 0; k <= N; k++) {
        d_ocp_qp_dim_set_nx(k, k ? nx : 0, &dim);
        d_ocp_qp_dim_set_nu(k, k < N ? nu : 0, &dim);
    }
    d_ocp_qp_create(&dim, &qp, malloc(d_ocp_qp_memsize(&dim)));
    pack();
    d_ocp_qp_sol_create(&dim, &sol, malloc(d_ocp_qp_sol_memsize(&dim)));
    d_ocp_qp_ipm_arg_create(&dim, &arg, malloc(d_ocp_qp_ipm_arg_memsize(&dim)));
    d_ocp_qp_ipm_arg_set_default(SPEED, &arg);
    d_ocp_qp_ipm_ws_create(&dim, &arg, &workspace, malloc(d_ocp_qp_ipm_ws_memsize(&dim, &arg)));
}

void sweep(int count)
{
    for (int i = 0; i < count; i++) d_ocp_qp_fact_solve_kkt_unconstr(&qp, &sol, &arg, &workspace);
}

void sweep_with_copies(int count)
{
    for (int i = 0; i < count; i++) {
        pack();
        d_ocp_qp_fact_solve_kkt_unconstr(&qp, &sol, &arg, &workspace);
        solution(x, u);
    }
}
