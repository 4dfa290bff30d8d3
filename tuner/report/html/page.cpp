#include "tuner/report/html/page.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "space/digest.hpp"

namespace nocturne::report {
namespace {

using nlohmann::json;

/// JSON that can stand in a script: neither does it end there nor does a comment begin.
std::string json_text(const json& document) {
  std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");
  return text;
}

/// RFC 4648, of bytes given as hexadecimal digits.
std::string base64_of_hexadecimal(std::string_view digits) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (std::size_t at = 0; at < digits.size(); at += 6) {  // three bytes become four letters
    std::string group(digits.substr(at, 6));
    const std::size_t letters = group.size() / 2 + 1;
    group.resize(6, '0');
    const unsigned long bits = std::stoul(group, nullptr, 16);
    for (std::size_t i = 0; i < 4; ++i) result += i < letters ? kAlphabet[(bits >> (18 - 6 * i)) & 63U] : '=';
  }
  return result;
}

/// How a policy names the text with this hash.
std::string source_of(std::string_view sha256) {
  return fmt::format("'sha256-{}'", base64_of_hexadecimal(sha256));
}

std::string policy() {
  static const std::string text =
      fmt::format("default-src 'none'; style-src {}; script-src {} {}; base-uri 'none'; form-action 'none'",
                  source_of(space::sha256(page_styles())), source_of(chart_library_sha256()),
                  source_of(space::sha256(page_script())));
  return text;
}

class Writer {
 public:
  explicit Writer(const Discretion& discretion) : discretion_(discretion) {}

  [[nodiscard]] std::string text(std::string_view text) const { return escaped(discretion_.text(text)); }

  void head(const Page& page) {
    html_ += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    html_ += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy());
    html_ += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    html_ += "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n";
    if (page.running) html_ += "<noscript><meta http-equiv=\"refresh\" content=\"60\"></noscript>\n";
    html_ += fmt::format("<title>{} · Nocturne</title>\n<style>{}</style>\n</head>\n", text(page.title), page_styles());
  }

  void begin(const Page& page) {
    html_ +=
        fmt::format("<body{}>\n<header>\n<h1>{}</h1>\n", page.running ? " class=\"running\"" : "", text(page.title));
    if (page.running)
      html_ += fmt::format("<p class=\"state running\" data-written=\"{}\">", page.written_unix_s);
    else
      html_ += "<p class=\"state\">";
    html_ += fmt::format("{}</p>\n<dl>\n", text(page.state));
    for (const PageFact& fact : page.facts)
      html_ += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", text(fact.name), text(fact.value));
    html_ += "</dl>\n</header>\n<main>\n";
  }

  void headline(const Headline& headline) {
    html_ += fmt::format("<section id=\"verdict\" class=\"{}\">\n<h2>Verdict</h2>\n<p class=\"verdict\">{}</p>\n",
                         headline.proven ? "proven" : "open", text(headline.verdict));
    if (!headline.run.empty()) html_ += "<h3>What to run</h3>\n";
    for (const ShellLine& each : headline.run) {
      html_ += fmt::format(
          "<div class=\"command\"><p>{}</p><pre><code>{}</code></pre><button type=\"button\">Copy</button></div>\n",
          text(each.what), text(each.line));
    }
    html_ += "<h3>What went wrong</h3>\n";
    if (headline.wrong.empty()) html_ += "<p>Nothing that is known.</p>\n";
    if (!headline.wrong.empty()) html_ += "<ul>\n";
    for (const std::string& each : headline.wrong) html_ += fmt::format("<li>{}</li>\n", text(each));
    if (!headline.wrong.empty()) html_ += "</ul>\n";
    html_ += "</section>\n";
  }

  void section(const PageSection& section) {
    html_ += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", escaped(section.id), text(section.heading));
    if (section.charts.empty()) html_ += fmt::format("<p class=\"instead\">{}</p>\n", text(section.instead));
    for (const Chart& each : section.charts) chart(each);
    html_ += "</section>\n";
  }

  std::string end(const Page& page) {
    html_ += fmt::format("</main>\n<footer>\n<p>{}</p>\n", text(page.written));
    if (discretion_.discreet()) {
      html_ +=
          "<p>Made to be handed on: values of environment variables, words that look like tokens, names of users and "
          "hosts are left out.</p>\n";
    }
    html_ +=
        "<p>This file is whole: it asks no network for anything. The results are in it as JSON documents, "
        "<code>script[type=\"application/json\"]</code>; each says which schema it has. Charts: Chart.js, MIT "
        "licence.</p>\n</footer>\n";
    json charts = json::array();
    for (const PageSection& each : page.sections)
      for (const Chart& chart : each.charts) charts.push_back(discretion_.document(to_json(chart)));
    data("charts", charts);
    std::map<std::string, int> known;  // of two campaigns, the second one's are document-NAME-2
    for (const json& document : page.documents) {
      const std::string id = "document-" + document.value("schema", "");
      const int number = ++known[id];
      data(number == 1 ? id : fmt::format("{}-{}", id, number), discretion_.document(document));
    }
    static const std::string library = base64_of_hexadecimal(chart_library_gzip());
    html_ += fmt::format("<script type=\"application/gzip\" id=\"chart-library\">{}</script>\n", library);
    html_ += fmt::format("<!--\n{}\n-->\n", chart_licence());
    html_ += fmt::format("<script>{}</script>\n</body>\n</html>\n", page_script());
    return std::move(html_);
  }

 private:
  void data(std::string_view id, const json& document) {
    html_ += fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", escaped(id), json_text(document));
  }

  void chart(const Chart& chart) {
    html_ += fmt::format(
        "<figure>\n<figcaption><h3 id=\"title-{2}\">{0}</h3><p id=\"says-{2}\">{1}</p></figcaption>\n<div "
        "class=\"picture\"><canvas id=\"chart-{2}\" role=\"img\" aria-labelledby=\"title-{2} says-{2}\"></canvas>"
        "</div>\n",
        text(chart.title), text(chart.says), escaped(chart.id));
    table(chart.table);
    html_ += "</figure>\n";
  }

  void table(const ChartTable& table) {
    html_ +=
        "<details class=\"table\" open><summary>The same as a table</summary>\n<div class=\"scroll\"><table>\n<tr>";
    for (const std::string& each : table.columns) html_ += fmt::format("<th scope=\"col\">{}</th>", text(each));
    html_ += "</tr>\n";
    for (const auto& row : table.rows) {
      html_ += "<tr>";
      for (const std::string& each : row) html_ += fmt::format("<td>{}</td>", text(each));
      html_ += "</tr>\n";
    }
    html_ += "</table></div></details>\n";
  }

  const Discretion& discretion_;
  std::string html_;
};

}  // namespace

std::string escaped(std::string_view text) {
  // Through JSON, which replaces what is no UTF-8.
  const std::string valid =
      json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
  std::string safe;
  for (const char byte : valid) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '&')
      safe += "&amp;";
    else if (byte == '<')
      safe += "&lt;";
    else if (byte == '>')
      safe += "&gt;";
    else if (byte == '"')
      safe += "&quot;";
    else if (byte == '\'')
      safe += "&#39;";
    else if ((code < 0x20 && byte != '\n' && byte != '\t') || code == 0x7F)
      safe += "\uFFFD";
    else
      safe += byte;
  }
  return safe;
}

std::string html_of(const Page& page, const Discretion& discretion) {
  Writer writer(discretion);
  writer.head(page);
  writer.begin(page);
  writer.headline(page.headline);
  for (const PageSection& each : page.sections)
    if (!each.charts.empty() || !each.instead.empty()) writer.section(each);
  return writer.end(page);
}

}  // namespace nocturne::report
