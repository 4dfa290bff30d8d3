# Finds cudnn-frontend 1.32, the headers by which cuDNN's graphs are described: where CUDNN_FRONTEND_HOME says, in the system's folders,
# in .deps/cudnn-frontend (./quickstart --cuda), or in a Python environment (PyPI's nvidia-cudnn-frontend). They call NVRTC, which cuDNN needs
# for its fused kernels anyway; it lies beside nvcc's runtime.
#
#   CudnnFrontend_FOUND, CudnnFrontend_VERSION, CudnnFrontend_INCLUDE_DIR, CudnnFrontend_NVRTC_LIBRARY, CudnnFrontend_REASON (why not)

include(${CMAKE_CURRENT_LIST_DIR}/HeaderVersion.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/PythonNvidia.cmake)
python_nvidia_folders(folders)

cmake_path(SET deps NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../../.deps/cudnn-frontend)
set(in_python)
foreach(folder IN LISTS folders)  # …/site-packages/nvidia: the headers lie in …/site-packages/include
  cmake_path(GET folder PARENT_PATH packages)
  list(APPEND in_python ${packages})
endforeach()
find_path(CudnnFrontend_INCLUDE_DIR cudnn_frontend.h HINTS $ENV{CUDNN_FRONTEND_HOME} PATHS ${deps} /usr/local/cuda ${in_python}
  PATH_SUFFIXES include)
if(Nvcc_INCLUDE_DIR)
  cmake_path(GET Nvcc_INCLUDE_DIR PARENT_PATH toolkit)
endif()
# A major version's name lies where no other does, as in PyPI's package.
find_library(CudnnFrontend_NVRTC_LIBRARY NAMES nvrtc libnvrtc.so.13 libnvrtc.so.12 HINTS ${toolkit} PATH_SUFFIXES lib64 lib
  NO_DEFAULT_PATH)

set(CudnnFrontend_REASON)
if(NOT CudnnFrontend_INCLUDE_DIR)
  set(CudnnFrontend_REASON "no cudnn_frontend.h found")
elseif(NOT EXISTS ${Nvcc_INCLUDE_DIR}/nvrtc.h OR NOT CudnnFrontend_NVRTC_LIBRARY)
  set(CudnnFrontend_REASON "no NVRTC lies beside nvcc, which cudnn-frontend calls")
else()
  header_version(CudnnFrontend_VERSION ${CudnnFrontend_INCLUDE_DIR}/cudnn_frontend_version.h
    CUDNN_FRONTEND_MAJOR_VERSION CUDNN_FRONTEND_MINOR_VERSION CUDNN_FRONTEND_PATCH_VERSION)
  if(CudnnFrontend_VERSION VERSION_LESS 1.32)
    set(CudnnFrontend_REASON "cudnn-frontend ${CudnnFrontend_VERSION} is older than 1.32")
  endif()
endif()
if(CudnnFrontend_REASON)
  set(CudnnFrontend_FOUND FALSE)
else()
  set(CudnnFrontend_FOUND TRUE)
endif()
mark_as_advanced(CudnnFrontend_INCLUDE_DIR CudnnFrontend_NVRTC_LIBRARY)
