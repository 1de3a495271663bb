#include "pinocchio_model.hpp"
#include <fstream>
#include <iostream>
#include <casadi/casadi.hpp>
#include <pinocchio/autodiff/casadi.hpp>
#include <pinocchio/autodiff/casadi-algo.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>

using casadi::SX;
using Model = ModelOf<SX>;
using Data = DataOf<SX>;
using Vector = Model::VectorXs;
using Matrix = Data::MatrixXs;

static Vector eigen(const SX & x)
{
  Vector y(x.rows());
  for (int i = 0; i < x.rows(); ++i) y[i] = x(i);
  return y;
}
template<typename M>
static SX dense(const M & m)
{
  SX x = SX(m.rows(), m.cols());
  for (int j = 0; j < m.cols(); ++j)
    for (int i = 0; i < m.rows(); ++i) x(i, j) = m(i, j);
  return sparsify(x);
}

int main(int argc, char ** argv)
{
  if (argc != 4) return 2;
  const std::string quantity = argv[1], file = argv[3];
  std::ifstream in(argv[2]);
  std::stringstream text;
  text << in.rdbuf();
  Model model = read_model(text.str()).cast<SX>();
  Data data(model);
  const int nv = model.nv, nq = model.nq;
  SX q = SX::sym("q", nq), v = SX::sym("v", nv), a = SX::sym("a", nv);
  Vector Q = eigen(q), V = eigen(v), A = eigen(a);
  std::vector<SX> results;
  if (quantity == "inverse_dynamics")
    results = {dense(pin::rnea(model, data, Q, V, A))};
  else if (quantity == "forward_dynamics")
    results = {dense(pin::aba(model, data, Q, V, A))};
  else if (quantity == "mass_matrix") {
    pin::crba(model, data, Q);
    results = {dense(Matrix(data.M))};
  }
  else if (quantity == "inverse_dynamics_derivatives_recursion") {
    pin::computeRNEADerivatives(model, data, Q, V, A);
    results = {dense(data.dtau_dq), dense(data.dtau_dv), dense(data.M)};
  }
  else if (quantity == "forward_dynamics_derivatives_recursion") {
    pin::computeABADerivatives(model, data, Q, V, A);
    results = {dense(data.ddq_dq), dense(data.ddq_dv), dense(data.Minv)};
  }
  else if (quantity == "inverse_dynamics_derivatives" || quantity == "forward_dynamics_derivatives") {
    SX d = SX::sym("d", nv);
    Vector moved = pin::integrate(model, Q, eigen(d));
    SX f = quantity[0] == 'i' ? dense(pin::rnea(model, data, moved, V, A)) : dense(pin::aba(model, data, moved, V, A));
    SX dq = jacobian(f, d), dv = jacobian(f, v), da = jacobian(f, a);
    SX zero = SX::zeros(nv);
    results = {substitute(dq, d, zero), substitute(dv, d, zero), substitute(da, d, zero)};
    for (SX & x : results) x = sparsify(x);
  }
  else if (quantity == "regressor")
    results = {dense(pin::computeJointTorqueRegressor(model, data, Q, V, A))};
  else
    return 3;
  casadi::Function f("kernel", {q, v, a}, results);
  std::cout << f.n_instructions() << "\n";
  const size_t slash = file.find_last_of('/');
  casadi::CodeGenerator generator(file.substr(slash + 1), casadi::Dict{{"with_header", false}});
  generator.add(f);
  generator.generate(file.substr(0, slash + 1));
  return 0;
}
