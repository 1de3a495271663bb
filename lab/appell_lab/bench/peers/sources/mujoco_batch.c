// The loop over a batch around MuJoCo's functions: only the stages that the quantity needs.
#include <mujoco/mujoco.h>
#include <string.h>

struct robot
{
  mjModel * model;
  mjData * data;
};
static struct robot robots[16];
static int count = 0;

void * make(const char * file)
{
  char error[1000];
  struct robot * r = &robots[count];
  if (count == 16 || !(r->model = mj_loadXML(file, 0, error, sizeof error))) return 0;
  r->data = mj_makeData(r->model);
  ++count;
  return r;
}

static void stand(struct robot * r, const double * q)
{
  mju_copy(r->data->qpos, q, r->model->nq);
  mj_kinematics(r->model, r->data);
  mj_comPos(r->model, r->data);
}

void inverse_dynamics(struct robot * r, long n, const double * q, const double * v, const double * a, double * tau)
{
  const long nq = r->model->nq, nv = r->model->nv;
  for (long k = 0; k < n; ++k) {
    stand(r, q + k * nq);
    mju_copy(r->data->qvel, v + k * nv, nv);
    mju_copy(r->data->qacc, a + k * nv, nv);
    mj_comVel(r->model, r->data);
    mj_rne(r->model, r->data, 1, tau + k * nv);
  }
}

void mass_matrix(struct robot * r, long n, const double * q, const double * v, const double * a, double * M)
{
  const long nq = r->model->nq, nv = r->model->nv;
  for (long k = 0; k < n; ++k) {
    stand(r, q + k * nq);
    mj_makeM(r->model, r->data);
    mj_fullM(r->model, r->data, M + k * nv * nv);
  }
}

void forward_dynamics(struct robot * r, long n, const double * q, const double * v, const double * tau, double * a)
{
  const long nq = r->model->nq, nv = r->model->nv;
  double * force = r->data->qfrc_bias;
  for (long k = 0; k < n; ++k) {
    stand(r, q + k * nq);
    mju_copy(r->data->qvel, v + k * nv, nv);
    mj_comVel(r->model, r->data);
    mj_makeM(r->model, r->data);
    mj_factorM(r->model, r->data);
    mj_rne(r->model, r->data, 0, force);
    mju_sub(force, tau + k * nv, force, nv);
    mj_solveM(r->model, r->data, a + k * nv, force, 1);
  }
}
