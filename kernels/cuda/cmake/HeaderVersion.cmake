# The version that a library's header defines.
include_guard(GLOBAL)

# header_version(RESULT HEADER NAME…): the numbers that `#define NAME NUMBER` gives the names, in their order, joined by dots.
function(header_version result header)
  list(JOIN ARGN "|" names)
  file(STRINGS ${header} lines REGEX "^#define (${names}) ")
  set(version)
  foreach(name IN LISTS ARGN)
    if(lines MATCHES "${name} ([0-9]+)")
      list(APPEND version ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(JOIN version "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()
