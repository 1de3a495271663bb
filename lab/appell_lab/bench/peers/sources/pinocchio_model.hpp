// A Pinocchio model from the text that `pinocchio_text.py` writes.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>
#if __has_include(<pinocchio/multibody.hpp>)
#include <pinocchio/multibody.hpp>
#else
#include <pinocchio/multibody/data.hpp>
#include <pinocchio/multibody/model.hpp>
#endif

namespace pin = pinocchio;

// The joints that the text may name, and the mimic that Pinocchio asks for: every algorithm is compiled for each, so
// fewer of them are built sooner.
template<typename S, int O>
struct Joints
{
  typedef S Scalar;
  enum { Options = O };
  typedef boost::variant<
    pin::JointModelRevoluteTpl<S, O, 0>, pin::JointModelRevoluteTpl<S, O, 1>, pin::JointModelRevoluteTpl<S, O, 2>,
    pin::JointModelPrismaticTpl<S, O, 0>, pin::JointModelPrismaticTpl<S, O, 1>, pin::JointModelPrismaticTpl<S, O, 2>,
    pin::JointModelRevoluteUnalignedTpl<S, O>, pin::JointModelPrismaticUnalignedTpl<S, O>,
    pin::JointModelFreeFlyerTpl<S, O>, boost::recursive_wrapper<pin::JointModelMimicTpl<S, O, Joints>>>
    JointModelVariant;
  typedef boost::variant<
    pin::JointDataRevoluteTpl<S, O, 0>, pin::JointDataRevoluteTpl<S, O, 1>, pin::JointDataRevoluteTpl<S, O, 2>,
    pin::JointDataPrismaticTpl<S, O, 0>, pin::JointDataPrismaticTpl<S, O, 1>, pin::JointDataPrismaticTpl<S, O, 2>,
    pin::JointDataRevoluteUnalignedTpl<S, O>, pin::JointDataPrismaticUnalignedTpl<S, O>,
    pin::JointDataFreeFlyerTpl<S, O>, boost::recursive_wrapper<pin::JointDataMimicTpl<S, O, Joints>>>
    JointDataVariant;
};

template<typename S> using ModelOf = pin::ModelTpl<S, 0, Joints>;
template<typename S> using DataOf = pin::DataTpl<S, 0, Joints>;
using Joint = pin::JointModelTpl<double, 0, Joints>;

inline Joint joint_of(const std::string & kind, const Eigen::Vector3d & axis)
{
  if (kind == "JointModelRX") return Joint(pin::JointModelRX());
  if (kind == "JointModelRY") return Joint(pin::JointModelRY());
  if (kind == "JointModelRZ") return Joint(pin::JointModelRZ());
  if (kind == "JointModelPX") return Joint(pin::JointModelPX());
  if (kind == "JointModelPY") return Joint(pin::JointModelPY());
  if (kind == "JointModelPZ") return Joint(pin::JointModelPZ());
  if (kind == "JointModelRevoluteUnaligned") return Joint(pin::JointModelRevoluteUnaligned(axis));
  if (kind == "JointModelPrismaticUnaligned") return Joint(pin::JointModelPrismaticUnaligned(axis));
  if (kind == "JointModelFreeFlyer") return Joint(pin::JointModelFreeFlyer());
  throw std::invalid_argument("no joint of kind " + kind);
}

inline ModelOf<double> read_model(const std::string & text)
{
  std::istringstream in(text);
  ModelOf<double> model;
  int count;
  Eigen::Vector3d gravity;
  in >> count >> gravity[0] >> gravity[1] >> gravity[2];
  for (int k = 0; k < count; ++k) {
    std::string kind;
    int parent;
    Eigen::Vector3d axis, p, c;
    Eigen::Matrix3d R, I;
    double m;
    in >> kind >> parent;
    for (int i = 0; i < 3; ++i) in >> axis[i];
    for (int i = 0; i < 9; ++i) in >> R(i / 3, i % 3);
    for (int i = 0; i < 3; ++i) in >> p[i];
    in >> m;
    for (int i = 0; i < 3; ++i) in >> c[i];
    for (int i = 0; i < 9; ++i) in >> I(i / 3, i % 3);
    if (!in) throw std::invalid_argument("the text of the model ends early");
    auto id = model.addJoint(parent, joint_of(kind, axis), pin::SE3(R, p), "joint" + std::to_string(k));
    model.appendBodyToJoint(id, pin::Inertia(m, c, I), pin::SE3::Identity());
  }
  model.gravity.linear(gravity);
  return model;
}
