# What `cmake --install` and the packages contain. Below PREFIX, which may be moved:
#   bin/                        nocturne, and beside it the programs that it starts
#   share/nocturne/             what is used at run time, as in the checkout: sources of workers, recipes, images, examples,
#                               python/nocturne.py
#   lib/nocturne/onednn/        oneDNN, where it did not come with the system
#   lib/nocturne/               portable packages only: the libraries that the programs need
#   share/man/man1, share/bash-completion/completions, share/doc/nocturne
include(GNUInstallDirs)

set(installed_programs nocturne nocturne-supervisor)
foreach(program nocturne-command-worker nocturne-machine nocturne-onednn nocturne-cudnn)  # presets thread and fuzz build no worker
  if(TARGET ${program})
    list(APPEND installed_programs ${program})
  endif()
endforeach()
set(installed_libraries ${CMAKE_INSTALL_LIBDIR}/nocturne)
set(own_onednn ${PROJECT_SOURCE_DIR}/.deps/onednn)
set_target_properties(${installed_programs} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../lib/nocturne;$ORIGIN/../lib/nocturne/onednn/lib")
# libhwloc needs libudev. Only the older kind of path (DT_RPATH) is used for the libraries of a library, too.
target_link_options(nocturne PRIVATE LINKER:--disable-new-dtags)
install(TARGETS ${installed_programs} RUNTIME_DEPENDENCY_SET nocturne_libraries)

if(EXISTS ${own_onednn}/lib)
  install(DIRECTORY ${own_onednn}/include ${own_onednn}/lib DESTINATION lib/nocturne/onednn PATTERN "cmake" EXCLUDE)
  install(DIRECTORY ${own_onednn}/share/doc/onednn DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/.deps/nlohmann-json)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/.deps/nlohmann-json DESTINATION lib/nocturne)
endif()

# Not in the packages of a distribution, which name what they depend on.
if(NOCTURNE_PORTABLE)
  foreach(program ${installed_programs})
    target_sources(${program} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/older_glibc.c)
    target_link_options(${program} PRIVATE -static-libstdc++ LINKER:--exclude-libs,ALL)  # hidden from oneDNN, which takes the system's
  endforeach()
  install(RUNTIME_DEPENDENCY_SET nocturne_libraries DESTINATION lib/nocturne
    DIRECTORIES ${own_onednn}/lib
    # The C library, its loader and GCC's libraries are the machine's own; oneDNN has its place, and cuDNN is never carried along.
    PRE_EXCLUDE_REGEXES "^libgcc_s" "^libstdc" "^libdnnl" "^libc\\.so" "^libm\\.so" "^ld-linux" "^libpthread" "^libdl\\.so" "^librt\\.so" "^libcud" "^libnv"
    POST_EXCLUDE_REGEXES "/libc\\.so" "/libm\\.so" "/ld-linux" "/libdnnl")
endif()

set(not_installed PATTERN "CMakeLists.txt" EXCLUDE PATTERN "__pycache__" EXCLUDE PATTERN "*.pyc" EXCLUDE)
foreach(folder kernels measure/protocol measure/environment/recipes measure/environment/fix_ups measure/container/images examples
    tuner/registry/infrastructures tuner/registry/fragments tuner/registry/images)
  get_filename_component(parent ${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/nocturne/${parent} USE_SOURCE_PERMISSIONS ${not_installed})
endforeach()

install(DIRECTORY tuner/python DESTINATION ${CMAKE_INSTALL_DATADIR}/nocturne ${not_installed})
install(FILES README.md CHANGELOG.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${NOCTURNE_CHART_JS_LICENCE} DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME chart.js.copyright)  # it is in the program
install(DIRECTORY ${CMAKE_BINARY_DIR}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(CODE "execute_process(COMMAND $<TARGET_FILE:nocturne> completion bash OUTPUT_FILE ${CMAKE_BINARY_DIR}/completion.bash COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${CMAKE_BINARY_DIR}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME nocturne)

# The packages: ./package makes them.
set(CPACK_PACKAGE_NAME nocturne)
set(CPACK_PACKAGE_VENDOR "Nocturne")
set(CPACK_PACKAGE_CONTACT "Nocturne <nocturne@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DESCRIPTION
  "Measures real training in many configurations overnight and says which is the\n fastest on this machine, by how much, how sure that is, and how to deploy it.")
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${own_onednn}/lib)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3, util-linux")
# Workers that are rebuilt, environments of Python, allocators: without them fewer parameters are offered.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
  "g++, nlohmann-json3-dev, zlib1g-dev, libjpeg62-turbo-dev, python3-venv, libjemalloc2, libtcmalloc-minimal4")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/prerm)
# numactl: exported scripts whose profile sets a memory policy.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "clang, charliecloud, numactl, podman")
include(CPack)
