#include "search/model/linear_model.hpp"

#include <Eigen/Dense>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "search/model/calibration.hpp"
#include "search/model/student.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search::model {

using namespace space::test;
using Catch::Approx;

namespace {

space::Space eight_parameters() {
  std::vector<space::ParameterSpec> specs;
  for (int i = 0; i < 4; ++i) specs.push_back(integers("n" + std::to_string(i), 0, 4));
  for (int i = 0; i < 4; ++i)
    specs.push_back(choices("c" + std::to_string(i), {std::string("x"), std::string("y"), std::string("z")}));
  return make_space(specs);
}

double bell(space::Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

using Truth = std::function<double(space::Point)>;

/// n0: a slope; c0: 0.5 for z; c1 with n1: an interaction. All else does nothing.
double additive(space::Point point) {
  return 0.2 * point[0] + (point[4] == 2 ? 0.5 : 0.0) + (point[5] == 1 && point[1] > 2 ? 0.6 : 0.0);
}

space::PointList tell_random(LinearModel& model, space::Lattice& lattice, const Truth& truth, double noise,
                             std::size_t trials, std::uint64_t seed) {
  space::Random random(seed);
  space::PointList points(lattice.width());
  std::vector<space::Level> point(lattice.width());
  for (std::size_t t = 0; t < trials; ++t) {
    REQUIRE(lattice.sample(random, point));
    model.tell(point, truth(point) + noise * bell(random));
    points.push_back(point);
  }
  return points;
}

}  // namespace

TEST_CASE("predictions and left-out residuals are those of plain algebra", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  LinearModel model(lattice, {});
  tell_random(model, lattice, additive, 0.05, 30, 1);
  model.fit();
  tell_random(model, lattice, additive, 0.05, 10, 2);  // these extend the factor row by row
  const auto& scales = model.scales();
  const LevelKernels kernels(lattice);
  const auto covariance = [&](space::Point x, space::Point y) {
    double sum = 0, squares = 0, product = 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double k = scales.weights[i] * static_cast<double>(kernels.covariance(i, x[i], y[i]));
      sum += k;
      squares += k * k;
      product *= static_cast<double>(kernels.closeness(i, x[i], y[i]));
    }
    return 1 + sum + scales.pairs / 2 * (sum * sum - squares) + scales.local * product;
  };
  const auto n = static_cast<Eigen::Index>(model.size());
  Eigen::MatrixXd k(n, n);
  Eigen::VectorXd y(n);
  for (Eigen::Index s = 0; s < n; ++s) {
    const auto trial = static_cast<std::size_t>(s);
    y(s) = model.target().to_model(model.log_value(trial));
    for (Eigen::Index t = 0; t < n; ++t)
      k(s, t) = covariance(model.point(trial), model.point(static_cast<std::size_t>(t)));
    k(s, s) += scales.noise;
  }
  const Eigen::MatrixXd inverse = k.inverse();
  space::PointList points(lattice.width());
  space::Random random(9);
  std::vector<space::Level> point(lattice.width());
  for (int i = 0; i < 37; ++i) {
    REQUIRE(lattice.sample(random, point));
    points.push_back(point);
  }
  std::vector<float> means, sds;
  model.predict(points, means, sds);
  for (std::size_t i = 0; i < points.size(); ++i) {
    Eigen::VectorXd with(n);
    for (Eigen::Index t = 0; t < n; ++t) with(t) = covariance(points[i], model.point(static_cast<std::size_t>(t)));
    const double mean = with.dot(inverse * y);
    const double sd = std::sqrt(covariance(points[i], points[i]) - with.dot(inverse * with));
    CHECK(static_cast<double>(means[i]) == Approx(mean).margin(2e-3));
    CHECK(static_cast<double>(sds[i]) == Approx(sd).margin(2e-3));
    const auto prediction = model.predict(points[i]);
    CHECK(prediction.mean == Approx(mean).margin(2e-3));
    CHECK(prediction.latent_sd == Approx(sd).margin(2e-3));
    CHECK(prediction.observed_sd > prediction.latent_sd);
  }
  for (const auto& each : model.leave_one_out()) {
    const auto t = static_cast<Eigen::Index>(each.trial);
    CHECK(each.prediction.mean == Approx(y(t) - (inverse * y)(t) / inverse(t, t)).margin(5e-3));
    CHECK(each.prediction.observed_sd == Approx(1 / std::sqrt(inverse(t, t))).margin(5e-3));
  }
}

TEST_CASE("effects of levels, interactions and idle parameters are recovered", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  LinearModel model(lattice, {});
  tell_random(model, lattice, additive, 0.02, 120, 3);
  model.fit();
  model.fit();
  space::Random random(4);
  const auto change = [&](std::size_t parameter, space::Level from, space::Level to) {
    space::PointList before(lattice.width()), after(lattice.width());
    std::vector<space::Level> point(lattice.width());
    for (int i = 0; i < 100; ++i) {
      REQUIRE(lattice.sample(random, point));
      point[parameter] = from;
      before.push_back(point);
      point[parameter] = to;
      after.push_back(point);
    }
    return model.difference(before, after);
  };
  const auto z = change(4, 0, 2);
  CHECK(z.mean == Approx(0.5).margin(0.12));
  const double ninety = student_quantile(8, 0.95);  // as intervals of predictions are made
  CHECK(z.mean > ninety * z.sd);
  CHECK(change(0, 0, 4).mean == Approx(0.8).margin(0.2));
  int holding = 0, missing = 0;
  for (const std::size_t idle : {2, 3, 6, 7}) {
    for (space::Level to = 1; to < lattice.axis(idle).levels; ++to) {
      for (space::Level from = 0; from < to; ++from) {
        const auto nothing = change(idle, from, to);
        CHECK(std::abs(nothing.mean) < 0.08);
        ++(std::abs(nothing.mean) < ninety * nothing.sd ? holding : missing);
      }
    }
  }
  CAPTURE(holding, missing);
  CHECK(holding > 3 * missing);  // nine in ten are promised, of 26 that are not independent
  const auto strongest = model.interactions().front();
  CHECK(strongest.first == 1);
  CHECK(strongest.second == 5);
}

TEST_CASE("intervals hold what they promise where the model is right", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  Coverage all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    LinearModel model(lattice, {});
    const Truth truth = [&](space::Point point) {
      space::Random effect(seed);
      double sum = 0;
      for (const auto level : point) {
        for (int l = 0; l < 5; ++l) {
          const double size = 0.3 * bell(effect);
          if (l == level) sum += size;
        }
      }
      return sum;
    };
    tell_random(model, lattice, truth, 0.1, 60, seed);
    model.fit();
    space::Random random(100 + seed);
    space::PointList points(lattice.width());
    std::vector<double> values;
    std::vector<space::Level> point(lattice.width());
    for (int i = 0; i < 200; ++i) {
      REQUIRE(lattice.sample(random, point));
      points.push_back(point);
      values.push_back(truth(point) + 0.1 * bell(random));
    }
    const auto coverage = calibration(model, points, values);
    all.inside += coverage.inside;
    all.below += coverage.below;
    all.above += coverage.above;
  }
  CHECK(all.share() > 0.85);
  CHECK(all.share() < 0.97);
}

TEST_CASE("intervals are as wide as trials that were expected to be about as good were wrong", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  LinearModel model(lattice, {.knee = 1});
  space::Random rough(7);
  // Steps of n0 tell all; where it is slow, nobody knows what else matters.
  const Truth truth = [&](space::Point point) { return 0.5 * point[0] + (point[0] > 2 ? 0.3 : 0.01) * bell(rough); };
  tell_random(model, lattice, truth, 0, 120, 7);
  model.fit();
  space::Random random(8);
  std::vector<space::Level> point(lattice.width());
  double fast = 0, slow = 0;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(lattice.sample(random, point));
    point[0] = 0;
    fast += model.predict(point).widening;
    point[0] = 4;
    slow += model.predict(point).widening;
  }
  CHECK(slow > 1.5 * fast);
}

TEST_CASE("a model that doubts is less sure of what is unlike its trials", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  const auto widening = [&](double doubt, std::size_t trials) {
    LinearModel model(lattice, {.knee = 1, .doubt = doubt});
    tell_random(model, lattice, additive, 0.05, trials, 9);
    model.fit();
    return model.predict(std::vector<space::Level>(lattice.width(), 1)).widening;
  };
  CHECK(widening(3, 6) > 1.2 * widening(1, 6));
  CHECK(widening(3, 120) < 1.1 * widening(1, 120));
}

TEST_CASE("one trial told ten times too slow or too fast hardly moves what is predicted", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  for (const double factor : {10.0, 0.1}) {
    LinearModel clean(lattice, {}), disturbed(lattice, {});
    const auto points = tell_random(clean, lattice, additive, 0.02, 60, 5);
    for (std::size_t t = 0; t < clean.size(); ++t)
      disturbed.tell(clean.point(t), clean.log_value(t) + (t == 17 ? std::log(factor) : 0));
    for (int i = 0; i < 3; ++i) {
      clean.fit();
      disturbed.fit();
    }
    double apart = 0;
    for (std::size_t t = 0; t < points.size(); ++t)
      apart += std::abs(disturbed.predict(points[t]).log_mean() - clean.predict(points[t]).log_mean()) / 60;
    INFO("factor " << factor);
    CHECK(apart < 0.08);
    CHECK(disturbed.target().to_log(disturbed.best()) > additive(points[0]) - 2);
  }
}

TEST_CASE("telling again replaces, forgetting removes, assuming leaves no trace", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  LinearModel told(lattice, {}), once(lattice, {});
  const auto points = tell_random(told, lattice, additive, 0.02, 20, 6);
  told.tell(points[3], 5);
  told.tell(points[3], additive(points[3]));
  for (std::size_t t = 0; t < told.size(); ++t) once.tell(told.point(t), told.log_value(t));
  told.fit();
  once.fit();
  CHECK(told.size() == once.size());
  CHECK(told.predict(points[7]).mean == once.predict(points[7]).mean);
  const auto before = told.predict(points[0]);
  const std::vector<space::Level> elsewhere = {4, 4, 4, 4, 2, 2, 2, 2};
  const double unsure = told.predict(elsewhere).latent_sd;
  told.assume(elsewhere);
  CHECK(told.predict(elsewhere).latent_sd < unsure);
  told.release();
  CHECK(told.predict(points[0]).mean == Approx(before.mean).epsilon(1e-12));
  CHECK(told.predict(elsewhere).latent_sd == Approx(unsure).epsilon(1e-12));
  told.forget(points[5]);
  CHECK(told.size() == once.size() - 1);
  told.fit();
  CHECK(told.predict(points[5]).latent_sd > once.predict(points[5]).latent_sd);
}

TEST_CASE("a model that has forgotten all it was told can be fitted, and learns again", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  LinearModel model(lattice, {});
  model.fit();
  const auto points = tell_random(model, lattice, additive, 0.02, 3, 13);
  model.fit();
  for (std::size_t i = 0; i < points.size(); ++i) model.forget(points[i]);
  model.fit();
  CHECK(model.size() == 0);
  model.tell(points[0], 1);
  model.fit();
  CHECK(model.predict(points[0]).log_mean() == Approx(1).margin(0.01));
}

TEST_CASE("what the design cannot separate is named", "[model]") {
  const auto space = make_space({boolean("a"), boolean("b"), integers("c", 0, 3), boolean("d")});
  space::Lattice lattice(space);
  LinearModel model(lattice, {});
  model.tell(std::vector<space::Level>{0, 1, 0, 0}, 1);
  model.tell(std::vector<space::Level>{1, 0, 1, 0}, 2);
  model.tell(std::vector<space::Level>{0, 1, 2, 0}, 3);
  const auto aliased = model.aliased();
  REQUIRE(aliased.size() == 2);
  CHECK(aliased[0].parameters == std::vector<std::size_t>{0, 1});
  CHECK(aliased[1].parameters == std::vector<std::size_t>{3});
}

TEST_CASE("a physical feature explains what levels not yet seen do", "[model]") {
  const auto space = make_space({choices("a", {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{8},
                                               std::int64_t{16}, std::int64_t{32}}),
                                 boolean("b")});
  space::Lattice lattice(space);
  const Feature log_a{.name = "log(a)",
                      .value = [&](space::Point point) { return std::log(lattice.axis(0).numbers[point[0]]); }};
  LinearModel with(lattice, {}, {log_a}), without(lattice, {});
  for (const space::Level level : {0, 1, 2, 3, 5}) {
    for (const space::Level flag : {0, 1}) {
      const std::vector<space::Level> point = {level, flag};
      const double value = 0.7 * level + 0.1 * flag;
      with.tell(point, value);
      without.tell(point, value);
    }
  }
  with.fit();
  without.fit();
  const std::vector<space::Level> unseen = {4, 0};
  CHECK(std::abs(with.predict(unseen).log_mean() - 2.8) < 0.5 * std::abs(without.predict(unseen).log_mean() - 2.8));
}

TEST_CASE("models are fitted often while they are small", "[model]") {
  CHECK(fit_is_due(1, 0));
  CHECK(fit_is_due(40, 39));
  CHECK_FALSE(fit_is_due(43, 41));
  CHECK(fit_is_due(44, 41));
  CHECK_FALSE(fit_is_due(207, 200));
  CHECK(fit_is_due(208, 200));
  CHECK_FALSE(fit_is_due(527, 512));
  CHECK(fit_is_due(528, 512));
  CHECK_FALSE(fit_is_due(10'031, 10'000));
  CHECK(fit_is_due(10'032, 10'000));
  CHECK(fit_is_due(5, 9));  // some were forgotten
}

TEST_CASE("an outlier stays one when the trials that carry a model are chosen anew", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  LinearModel model(lattice, {.trials = 40});
  const std::vector<space::Level> place = {2, 2, 2, 2, 1, 1, 1, 1};
  const double wrong = additive(place) - std::log(10);
  model.tell(place, wrong);
  tell_random(model, lattice, additive, 0.02, 60, 11);
  for (int i = 0; i < 3; ++i) model.fit();
  CHECK(model.target().to_log(model.best()) > wrong + 1);
  tell_random(model, lattice, additive, 0.02, 20, 12);
  CHECK(model.target().to_log(model.best()) > wrong + 1);
  CHECK(model.leave_one_out().size() == 40);  // they were
}

TEST_CASE("what a single trial knows is not lost among hundreds", "[model]") {
  const auto space = make_space(
      {choices("framework", {std::string("fast"), std::string("slow")}), integers("x", 0, 19), integers("y", 0, 9)});
  space::Lattice lattice(space);
  LinearModel model(lattice, {.knee = 1, .trials = 64});
  const auto place = [](std::size_t t) {
    return std::vector<space::Level>{static_cast<space::Level>(t == 7 ? 1 : 0), static_cast<space::Level>(t % 20),
                                     static_cast<space::Level>(t / 20)};
  };
  // The latest are the best, so that trial 7 is none of them; nor is it one of those taken evenly (0, 5, 10, …).
  for (std::size_t t = 0; t < 200; ++t)
    model.tell(place(t), t == 7 ? std::log(8) : 0.001 * static_cast<double>(200 - t));
  CHECK(model.predict(place(7)).log_mean() == Approx(std::log(8)).margin(0.3));
  CHECK(model.leave_one_out().size() == 64);
}

TEST_CASE("thousands of trials are carried by a few hundred, the best among them", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  LinearModel model(lattice, {.trials = 100});
  tell_random(model, lattice, additive, 0.02, 2000, 8);
  model.fit();
  CHECK(model.leave_one_out().size() <= 132);
  const std::vector<space::Level> good = {0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<space::Level> bad = {4, 4, 0, 0, 2, 1, 0, 0};
  CHECK(model.predict(bad).log_mean() - model.predict(good).log_mean() > 1);
}

TEST_CASE("points that are followed are predicted as those that are asked for anew, to the last bit", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  for (const std::size_t trials : {3, 40, 300}) {
    CAPTURE(trials);
    LinearModel model(lattice, {});
    tell_random(model, lattice, additive, 0.05, trials, 1);
    model.fit();
    space::Random random(5);
    std::vector<space::Level> point(lattice.width());
    space::PointList points(lattice.width());
    for (int i = 0; i < 37; ++i) {
      REQUIRE(lattice.sample(random, point));
      points.push_back(point);
    }
    FollowedPoints followed(points);
    std::vector<float> means, sds, followed_means, followed_sds;
    for (int step = 0; step < 30; ++step) {
      model.predict(points, means, sds);
      model.predict(followed, followed_means, followed_sds);
      CHECK(means == followed_means);
      CHECK(sds == followed_sds);
      REQUIRE(lattice.sample(random, point));
      model.tell(point, additive(point) + 0.05 * bell(random));
    }
    model.fit();  // the posterior is made anew, and so is what is followed
    model.predict(points, means, sds);
    model.predict(followed, followed_means, followed_sds);
    CHECK(means == followed_means);
    CHECK(sds == followed_sds);
  }
}

TEST_CASE("trials that are taken back leave the model as forgetting them does, to the last bit", "[model]") {
  const auto space = eight_parameters();
  space::Lattice lattice(space);
  for (const std::size_t trials : {20, 255, 300}) {
    CAPTURE(trials);
    LinearModel taking_back(lattice, {}), forgetting(lattice, {});
    for (LinearModel* model : {&taking_back, &forgetting}) {
      tell_random(*model, lattice, additive, 0.05, trials, 1);
      model->fit();
    }
    const std::size_t before = forgetting.size();
    space::Random random(8);
    for (int play = 0; play < 4; ++play) {
      space::PointList told(lattice.width());
      std::vector<space::Level> point(lattice.width());
      for (int i = 0; i < 12; ++i) {
        REQUIRE(lattice.sample(random, point));
        const std::size_t size = forgetting.size();
        const double value = bell(random);
        for (LinearModel* model : {&taking_back, &forgetting}) {
          model->tell(point, value);
          CHECK(model->predict(point).mean == taking_back.predict(point).mean);
        }
        if (forgetting.size() > size) told.push_back(point);
      }
      taking_back.take_back(before);
      for (std::size_t i = told.size(); i-- > 0;) forgetting.forget(told[i]);
      REQUIRE(lattice.sample(random, point));
      CHECK(taking_back.size() == before);
      CHECK(taking_back.predict(point).mean == forgetting.predict(point).mean);
      CHECK(taking_back.predict(point).latent_sd == forgetting.predict(point).latent_sd);
    }
    taking_back.fit();
    forgetting.fit();
    CHECK(taking_back.scales().noise == forgetting.scales().noise);
  }
}

}  // namespace nocturne::search::model
