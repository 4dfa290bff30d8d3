# Finds cuDNN 9: beside the CUDA toolkit, in the system's folders, in .deps/cuda (./quickstart --cuda), or inside a Python
# environment (nvidia/cudnn/include and lib, where no libcudnn.so without a number lies).
#
#   Cudnn_FOUND, Cudnn_VERSION, Cudnn_INCLUDE_DIR, Cudnn_LIBRARY, Cudnn_RPATH (folders the program looks in), Cudnn_REASON

include(${CMAKE_CURRENT_LIST_DIR}/PythonNvidia.cmake)
python_nvidia_folders(folders)

set(hints $ENV{CUDNN_HOME} $ENV{CUDNN_PATH})
if(Nvcc_INCLUDE_DIR)
  cmake_path(GET Nvcc_INCLUDE_DIR PARENT_PATH toolkit)
  list(APPEND hints ${toolkit})
endif()
list(TRANSFORM folders APPEND /cudnn OUTPUT_VARIABLE in_python)
find_path(Cudnn_INCLUDE_DIR cudnn_version.h HINTS ${hints} PATHS /usr/local/cuda ${in_python} PATH_SUFFIXES include)
find_library(Cudnn_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${hints} PATHS /usr/local/cuda ${in_python}
  PATH_SUFFIXES lib64 lib lib/x86_64-linux-gnu)

set(Cudnn_REASON)
if(NOT Cudnn_INCLUDE_DIR)
  set(Cudnn_REASON "no cuDNN found (cudnn_version.h)")
elseif(NOT Cudnn_LIBRARY)
  set(Cudnn_REASON "cuDNN's headers are there (${Cudnn_INCLUDE_DIR}), its library is not")
else()
  file(STRINGS ${Cudnn_INCLUDE_DIR}/cudnn_version.h lines REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) ")
  set(Cudnn_VERSION)
  foreach(part IN ITEMS MAJOR MINOR PATCHLEVEL)
    if(lines MATCHES "CUDNN_${part} ([0-9]+)")
      list(APPEND Cudnn_VERSION ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(JOIN Cudnn_VERSION "." Cudnn_VERSION)
  if(Cudnn_VERSION VERSION_LESS 9)
    set(Cudnn_REASON "cuDNN ${Cudnn_VERSION} is older than 9")
  endif()
  # cuDNN opens its parts, and cuBLAS, by name when they are needed.
  cmake_path(GET Cudnn_LIBRARY PARENT_PATH own)
  set(Cudnn_RPATH ${own})
  foreach(folder IN LISTS folders)
    file(GLOB beside ${folder}/cu[0-9]*/lib ${folder}/cublas/lib)
    list(APPEND Cudnn_RPATH ${beside})
  endforeach()
endif()
if(Cudnn_REASON)
  set(Cudnn_FOUND FALSE)
else()
  set(Cudnn_FOUND TRUE)
endif()
mark_as_advanced(Cudnn_INCLUDE_DIR Cudnn_LIBRARY)
