#include "pinocchio_model.hpp"
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>

using In = Eigen::Map<const Eigen::VectorXd>;
using Vector = Eigen::Map<Eigen::VectorXd>;
using Matrix = Eigen::Map<Eigen::MatrixXd>;

struct Robot
{
  ModelOf<double> model;
  DataOf<double> data;
  explicit Robot(const char * text) : model(read_model(text)), data(model) {}
};

template<typename F>
void each(Robot * robot, long n, const double * q, const double * v, const double * w, F f)
{
  const long nq = robot->model.nq, nv = robot->model.nv;
  for (long k = 0; k < n; ++k)
    f(k, In(q + k * nq, nq), In(v + k * nv, nv), In(w + k * nv, nv));
}

extern "C" {

void * make(const char * text)
{
  try { return new Robot(text); } catch (...) { return nullptr; }
}

void inverse_dynamics(Robot * r, long n, const double * q, const double * v, const double * a, double * tau)
{
  const long nv = r->model.nv;
  each(r, n, q, v, a, [=](long k, In q, In v, In a) { Vector(tau + k * nv, nv) = pin::rnea(r->model, r->data, q, v, a); });
}
void forward_dynamics(Robot * r, long n, const double * q, const double * v, const double * t, double * a)
{
  const long nv = r->model.nv;
  each(r, n, q, v, t, [=](long k, In q, In v, In t) { Vector(a + k * nv, nv) = pin::aba(r->model, r->data, q, v, t); });
}
void mass_matrix(Robot * r, long n, const double * q, const double * v, const double * a, double * M)
{
  const long nv = r->model.nv;
  each(r, n, q, v, a, [=](long k, In q, In v, In a) { Matrix(M + k * nv * nv, nv, nv) = pin::crba(r->model, r->data, q); });
}
void inverse_dynamics_derivatives(
  Robot * r, long n, const double * q, const double * v, const double * a, double * dq, double * dv, double * da)
{
  const long nv = r->model.nv, nn = nv * nv;
  each(r, n, q, v, a, [=](long k, In q, In v, In a) {
    Matrix Q(dq + k * nn, nv, nv), V(dv + k * nn, nv, nv), A(da + k * nn, nv, nv);
    Q.setZero(); V.setZero(); A.setZero();
    pin::computeRNEADerivatives(r->model, r->data, q, v, a, Q, V, A);
  });
}
void forward_dynamics_derivatives(
  Robot * r, long n, const double * q, const double * v, const double * t, double * dq, double * dv, double * dt)
{
  const long nv = r->model.nv, nn = nv * nv;
  each(r, n, q, v, t, [=](long k, In q, In v, In t) {
    Matrix Q(dq + k * nn, nv, nv), V(dv + k * nn, nv, nv), T(dt + k * nn, nv, nv);
    pin::computeABADerivatives(r->model, r->data, q, v, t, Q, V, T);
  });
}
void regressor(Robot * r, long n, const double * q, const double * v, const double * a, double * Y)
{
  const long nv = r->model.nv, columns = 10 * (r->model.njoints - 1);
  each(r, n, q, v, a, [=](long k, In q, In v, In a) {
    Matrix(Y + k * nv * columns, nv, columns) = pin::computeJointTorqueRegressor(r->model, r->data, q, v, a);
  });
}
}
