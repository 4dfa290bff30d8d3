#include "kernels/data/jpeg_file.hpp"

#include <algorithm>
#include <cmath>

#if __has_include(<jpeglib.h>) && !defined(NOCTURNE_WITHOUT_JPEG)
#include <csetjmp>
#include <cstdio>
// Each needs the one before: FILE; then which version's list of messages it is.
#include <jpeglib.h>

#include <jerror.h>
#ifdef LIBJPEG_TURBO_VERSION  // an older libjpeg cannot pass over rows
#define NOCTURNE_HAS_JPEG 1
#endif
#endif

namespace nocturne::data {

#ifdef NOCTURNE_HAS_JPEG
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;  // what is beyond is a lie in a header

/// libjpeg reports by calling back and must not be returned to: it is left by longjmp, so no function between setjmp
/// and libjpeg owns anything.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf escape;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->base.format_message(info, errors->text);
  std::longjmp(errors->escape, 1);  // NOLINT(cert-err52-cpp): libjpeg is C
}

// What libjpeg warns of and goes on with: pixels are lost for all but these.
bool is_harmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_ADOBE_XFORM || warning == JWRN_JFIF_MAJOR ||
         warning == JWRN_BOGUS_PROGRESSION;
}

void hear(j_common_ptr info, int level) {
  if (level < 0 && !is_harmless(info->err->msg_code)) leave(info);
}

/// One file being decoded. The functions that return bool return false where libjpeg gave up; why() says why.
class JpegDecoder {
 public:
  JpegDecoder() {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
    errors_.base.emit_message = hear;
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }

  bool read_header(const std::uint8_t* file, std::size_t size) {
    if (setjmp(errors_.escape) != 0) return false;  // NOLINT(cert-err52-cpp)
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, file, static_cast<unsigned long>(size));
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  bool start(unsigned eighths) {
    if (setjmp(errors_.escape) != 0) return false;  // NOLINT(cert-err52-cpp)
    info_.scale_num = eighths;
    info_.scale_denom = 8;
    const bool four = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = four ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info_);
    return true;
  }

  // Rows [first, end) into `out`, behind which there is room for one more. To the file's last row where `to_the_end`,
  // to see that it is whole; these are read, for passing over the last rows does not look at them.
  bool read_rows(std::int64_t first, std::int64_t end, bool to_the_end, std::uint8_t* out) {
    if (setjmp(errors_.escape) != 0) return false;  // NOLINT(cert-err52-cpp)
    jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(first));
    const std::int64_t row_bytes = std::int64_t{info_.output_width} * info_.output_components;
    const std::int64_t last = to_the_end ? std::int64_t{info_.output_height} : end;
    while (info_.output_scanline < static_cast<JDIMENSION>(last)) {
      JSAMPROW row = out + (std::min<std::int64_t>(info_.output_scanline, end) - first) * row_bytes;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    if (to_the_end) jpeg_finish_decompress(&info_);
    return true;
  }

  [[nodiscard]] const jpeg_decompress_struct& info() const { return info_; }
  [[nodiscard]] std::string why() const { return errors_.text; }

 private:
  jpeg_decompress_struct info_{};
  JpegErrors errors_{};
};

// The scale whose crop still has a pixel for each that is asked for. Sizes between these take a slow path.
unsigned smallest_scale(const Crop& crop, std::int64_t width, std::int64_t height) {
  for (const unsigned eighths : {1U, 2U, 4U})
    if (crop.width * eighths >= 8 * width && crop.height * eighths >= 8 * height) return eighths;
  return 8;
}

// A file ends in the marker EOI; some cameras write a little behind it.
bool ends_in_its_marker(std::span<const std::uint8_t> file) {
  const std::span<const std::uint8_t> tail = file.last(std::min<std::size_t>(file.size(), 1024));
  constexpr std::uint8_t kEnd[] = {0xff, 0xd9};
  return !std::ranges::search(tail, kEnd).empty();
}

// In place: four values a pixel become three. Programs that write such files (with Adobe's marker) store them inverted.
void to_rgb(std::uint8_t* pixels, std::int64_t count, bool inverted) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint8_t* from = pixels + 4 * i;
    const auto light = [inverted](std::uint8_t ink) { return inverted ? int{ink} : 255 - ink; };
    const int black = light(from[3]), red = light(from[0]), green = light(from[1]), blue = light(from[2]);
    std::uint8_t* to = pixels + 3 * i;
    to[0] = static_cast<std::uint8_t>(red * black / 255);
    to[1] = static_cast<std::uint8_t>(green * black / 255);
    to[2] = static_cast<std::uint8_t>(blue * black / 255);
  }
}

// The crop in pixels of the picture as it is decoded.
Region scaled(const Crop& crop, const jpeg_decompress_struct& info) {
  const double across = static_cast<double>(info.output_width) / info.image_width;
  const double down = static_cast<double>(info.output_height) / info.image_height;
  return {.left = static_cast<double>(crop.left) * across,
          .top = static_cast<double>(crop.top) * down,
          .width = static_cast<double>(crop.width) * across,
          .height = static_cast<double>(crop.height) * down,
          .flipped = crop.flipped};
}

}  // namespace

bool can_decode_jpeg() {
  return true;
}

DecodedPicture decode_jpeg(std::span<const std::uint8_t> file,
                           const std::function<Crop(std::int64_t width, std::int64_t height)>& choose,
                           std::int64_t width, std::int64_t height, std::vector<std::uint8_t>& pixels) {
  JpegDecoder decoder;
  if (!decoder.read_header(file.data(), file.size())) throw BrokenImage(decoder.why());
  const jpeg_decompress_struct& info = decoder.info();
  if (std::int64_t{info.image_width} * info.image_height > kMostPixels)
    throw BrokenImage("it says it has too many pixels");
  const Crop crop = choose(info.image_width, info.image_height);
  if (!decoder.start(smallest_scale(crop, width, height))) throw BrokenImage(decoder.why());
  Region region = scaled(crop, info);
  // Resampling looks beyond the region by as much as a target pixel is high.
  const double margin = std::max(1.0, region.height / static_cast<double>(height)) + 1;
  const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(region.top - margin)));
  const auto end = std::min<std::int64_t>(info.output_height,
                                          static_cast<std::int64_t>(std::ceil(region.top + region.height + margin)));
  const std::int64_t wide = info.output_width, values = (end - first) * wide;
  pixels.resize(static_cast<std::size_t>((values + wide) * info.output_components));
  if (!decoder.read_rows(first, end, !ends_in_its_marker(file), pixels.data())) throw BrokenImage(decoder.why());
  if (info.output_components == 4) to_rgb(pixels.data(), values, info.saw_Adobe_marker != FALSE);
  region.top -= static_cast<double>(first);
  return {.picture = {.pixels = pixels.data(), .width = wide, .height = end - first}, .region = region};
}

#else

bool can_decode_jpeg() {
  return false;
}

DecodedPicture decode_jpeg(std::span<const std::uint8_t>, const std::function<Crop(std::int64_t, std::int64_t)>&,
                           std::int64_t, std::int64_t, std::vector<std::uint8_t>&) {
  throw BrokenImage("this program was built without libjpeg-turbo");
}

#endif

}  // namespace nocturne::data
